// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";

address constant ALLOWANCE_HOLDER = 0x0000000000001fF3684f28c67538d4D072C22734;
address constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;

/// Behaves as 0x's AllowanceHolder: users approve it. During one call the operator that they name,
/// which may be any contract, can use the approval. It calls any target that is no token.
contract ZeroExAllowanceHolder {
    error ConfusedDeputy();

    mapping(bytes32 => uint256) private left;

    receive() external payable {}

    /// The length of the calldata is not checked: missing bytes read as zero.
    fallback() external payable {
        if (msg.sig == 0x2213bc0b) return _exec();
        if (msg.sig == 0x15dacbea) return _transferFrom();
        revert();
    }

    function _exec() private {
        address operator = _address(4);
        address token = _address(36);
        address target = _address(100);
        bytes memory data = _data(132);
        _rejectToken(target, data);
        bytes32 key = keccak256(abi.encode(operator, msg.sender, token));
        _set(key, _word(68));
        (bool ok, bytes memory result) = target.call{value: msg.value}(bytes.concat(data, bytes20(msg.sender)));
        if (!ok) _revertWith(result);
        // an allowance of a wallet itself remains: it ends with the transaction
        if (msg.sender != tx.origin) _set(key, 0);
        result = abi.encode(result);
        assembly ("memory-safe") {
            return(add(result, 32), mload(result))
        }
    }

    function _transferFrom() private {
        require(msg.value == 0);
        (address token, address owner, address to) = (_address(4), _address(36), _address(68));
        bytes32 key = keccak256(abi.encode(msg.sender, owner, token));
        _set(key, _get(key) - _word(100));
        SafeToken.move(token, owner, to, _word(100));
        assembly ("memory-safe") {
            mstore(0, 1)
            return(0, 32)
        }
    }

    /// A contract that answers `balanceOf` with a word may be a token, and a token is never called.
    function _rejectToken(address target, bytes memory data) private view {
        address owner;
        if (data.length > 16) {
            assembly ("memory-safe") {
                owner := shr(96, mload(add(data, 48)))
            }
        }
        if (uint160(owner) <= 0xffff) owner = address(0xdead);
        require(target.code.length > 0);
        (bool ok, bytes memory answer) = target.staticcall(abi.encodeWithSignature("balanceOf(address)", owner));
        if (ok && answer.length >= 32) revert ConfusedDeputy();
    }

    function _word(uint256 start) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := calldataload(start)
        }
    }

    function _address(uint256 start) private pure returns (address) {
        uint256 value = _word(start);
        require(value >> 160 == 0);
        return address(uint160(value));
    }

    function _data(uint256 start) private pure returns (bytes memory data) {
        unchecked {
            start = 4 + _word(start);
        }
        data = new bytes(_word(start));
        assembly ("memory-safe") {
            calldatacopy(add(data, 32), add(start, 32), mload(data))
        }
    }

    function _get(bytes32 key) private view returns (uint256 value) {
        assembly ("memory-safe") {
            value := tload(key)
        }
    }

    function _set(bytes32 key, uint256 value) private {
        assembly ("memory-safe") {
            tstore(key, value)
        }
    }

    function _revertWith(bytes memory answer) private pure {
        assembly ("memory-safe") {
            revert(add(answer, 32), mload(answer))
        }
    }
}

/// Behaves as 0x's Settler for transactions of the taker through AllowanceHolder. It has the actions
/// to which all others can be reduced: take, call anything, keep a surplus, check.
contract ZeroExSettler {
    using SafeToken for address;

    error ActionInvalid(uint256 i, bytes4 action, bytes data);
    error ConfusedDeputy();
    error InvalidOffset();
    error InvalidSignatureLen();
    error InvalidTarget();
    error MsgValueMismatch(uint256 expected, uint256 actual);
    error ReentrantPayer(address oldPayer);
    error SignatureExpired(uint256 deadline);
    error TooMuchSlippage(address token, uint256 expected, uint256 actual);

    address private transient payer;

    struct AllowedSlippage {
        address recipient;
        address buyToken;
        uint256 minAmountOut;
    }

    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    /// Answers one byte, so that AllowanceHolder does not regard it as a token.
    function balanceOf(address) external pure {
        assembly ("memory-safe") {
            mstore8(0, 0)
            return(0, 1)
        }
    }

    function execute(
        AllowedSlippage memory slippage,
        bytes[] calldata actions,
        bytes32
    ) external payable returns (bool) {
        // without AllowanceHolder it uses Permit2, which the sandbox does not have
        if (msg.sender != ALLOWANCE_HOLDER) revert ConfusedDeputy();
        if (payer != address(0)) revert ReentrantPayer(payer);
        payer = address(bytes20(msg.data[msg.data.length - 20:]));
        for (uint256 i = 0; i < actions.length; i++) {
            _dispatch(i, bytes4(actions[i]), actions[i][4:], slippage);
        }
        _checkSlippageAndTransfer(slippage, false);
        payer = address(0);
        return true;
    }

    function _dispatch(
        uint256 i,
        bytes4 action,
        bytes calldata data,
        AllowedSlippage memory slippage
    ) private {
        if (i == 0 && action == 0xc1fb425e) return _transferFrom(data);
        if (action == 0x34ee90ca) return _positiveSlippage(data);
        if (action == 0x38c9c147) return _basic(data);
        if (action == 0x131ad428) {
            return _checkSlippageAndTransfer(slippage, abi.decode(data, (bool)));
        }
        if (action != bytes4(keccak256("NATIVE_CHECK(uint256,uint256)"))) {
            revert ActionInvalid(i, action, data);
        }
        (uint256 deadline, uint256 value) = abi.decode(data, (uint256, uint256));
        if (block.timestamp > deadline) revert SignatureExpired(deadline);
        if (msg.value > value) revert MsgValueMismatch(value, msg.value);
    }

    function _transferFrom(bytes calldata data) private {
        (address to, PermitTransferFrom memory permit, bytes memory signature) = abi.decode(
            data,
            (address, PermitTransferFrom, bytes)
        );
        if (signature.length != 0) revert InvalidSignatureLen();
        require(permit.nonce == 0);
        if (block.timestamp > permit.deadline) revert SignatureExpired(permit.deadline);
        (address token, uint256 amount) = (permit.permitted.token, permit.permitted.amount);
        _call(
            ALLOWANCE_HOLDER,
            abi.encodeWithSignature(
                "transferFrom(address,address,address,uint256)", token, payer, to, amount
            )
        );
    }

    /// Calls any target except those that hold allowances, with a share of its balance written into
    /// the data and approved. Without a token it only calls.
    function _basic(bytes calldata data) private {
        (address token, uint256 bps, address pool, uint256 offset, bytes memory inner) = abi.decode(
            data,
            (address, uint256, address, uint256, bytes)
        );
        if (pool == ALLOWANCE_HOLDER || pool == PERMIT2) revert ConfusedDeputy();
        if (token == address(0)) {
            if (offset != 0) revert InvalidOffset();
        } else {
            uint256 amount = (token.held() * bps) / 10_000;
            require(offset + 32 <= inner.length);
            assembly ("memory-safe") {
                mstore(add(add(inner, 32), offset), amount)
            }
            if (token != pool) token.approve(pool, amount);
        }
        if (_call(pool, inner).length == 0 && pool.code.length == 0) revert InvalidTarget();
    }

    function _positiveSlippage(bytes calldata data) private {
        (address to, address token, uint256 expected, uint256 maxBps) = abi.decode(
            data,
            (address, address, uint256, uint256)
        );
        uint256 balance = token.held();
        if (balance <= expected) return;
        uint256 cap = (balance * maxBps) / 10_000;
        token.send(to, balance - expected > cap ? cap : balance - expected);
    }

    /// The whole balance of the buy token counts and is paid, or with `exact` at most the minimum.
    /// Then the terms are cleared, so that the last check finds none.
    function _checkSlippageAndTransfer(AllowedSlippage memory slippage, bool exact) private {
        (address token, uint256 least) = (slippage.buyToken, slippage.minAmountOut);
        if (least == 0 && token == address(0)) return;
        uint256 out = token.held();
        if (out < least) revert TooMuchSlippage(token, least, out);
        token.send(slippage.recipient, exact ? least : out);
        (slippage.recipient, slippage.buyToken, slippage.minAmountOut) = (address(0), address(0), 0);
    }

    function _call(address target, bytes memory data) private returns (bytes memory answer) {
        bool ok;
        (ok, answer) = target.call(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
    }
}

/// Behaves as 0x's Deployer, which lists the genuine Settlers: per feature the instances in order
/// of deployment. Feature 2 is for transactions of takers.
contract ZeroExDeployer {
    error ERC721NonexistentToken(uint256 tokenId);
    error NoInstance();
    error PermissionDenied();

    /// The authority over a feature's list; the sandbox writes both.
    mapping(uint256 => address) public authorized;
    mapping(uint256 => address[]) private instances;

    function ownerOf(uint256 feature) external view returns (address) {
        address[] storage list = _existing(feature);
        return list[list.length - 1];
    }

    function prev(uint128 feature) external view returns (address) {
        address[] storage list = _existing(feature);
        if (list.length < 2) revert NoInstance();
        return list[list.length - 2];
    }

    /// An address without code, which must never be trusted.
    function next(uint128 feature) external view returns (address) {
        bytes32 salt = keccak256(abi.encode(feature, instances[feature].length + 1));
        return address(uint160(uint256(salt)));
    }

    /// Appends an instance. The original deploys it; here the code already exists.
    function deploy(uint128 feature, address instance) external {
        _check(feature);
        instances[feature].push(instance);
    }

    function remove(uint128 feature, address instance) external {
        _check(feature);
        address[] storage list = instances[feature];
        uint256 kept;
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] != instance) list[kept++] = list[i];
        }
        while (list.length > kept) list.pop();
    }

    function removeAll(uint128 feature) external returns (bool) {
        _check(feature);
        delete instances[feature];
        return true;
    }

    function _existing(uint256 feature) private view returns (address[] storage list) {
        list = instances[feature];
        if (list.length == 0) revert ERC721NonexistentToken(feature);
    }

    function _check(uint256 feature) private view {
        if (msg.sender != authorized[feature]) revert PermissionDenied();
    }
}
