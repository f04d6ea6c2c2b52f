// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IV2Pair, IV3Pool} from "./Pools.sol";
import {IERC20, SafeToken} from "./SafeToken.sol";
import {Uniswap} from "./Uniswap.sol";

/// The proxy that users approve for OpenOcean. Its admin sets the implementation (EIP-1967).
contract OpenOceanProxy {
    bytes32 private constant IMPLEMENTATION =
        0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc;

    receive() external payable {}

    fallback() external payable {
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), sload(IMPLEMENTATION), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch ok
            case 0 {
                revert(0, returndatasize())
            }
            default {
                return(0, returndatasize())
            }
        }
    }
}

interface IPoolFacts {
    function token0() external view returns (address);

    function token1() external view returns (address);

    function fee() external view returns (uint24);
}

/// Behaves as OpenOcean's public source of ExchangeV2, which differs from mainnet's code.
contract OpenOceanExchange {
    using SafeToken for address;

    uint256 private constant PARTIAL_FILL = 1;
    uint256 private constant SHOULD_CLAIM = 2;
    address private constant SURPLUS = 0x922164BBBd36Acf9E854AcBbF32faCC949fCAEef;

    struct SwapDescription {
        address srcToken;
        address dstToken;
        address srcReceiver;
        address dstReceiver;
        uint256 amount;
        uint256 minReturnAmount;
        uint256 guaranteedAmount;
        uint256 flags;
        address referrer;
        bytes permit;
    }

    struct CallDescription {
        uint256 target;
        uint256 gasLimit;
        uint256 value;
        bytes data;
    }

    /// The minimum is compared with the recipient's gain.
    function swap(
        address caller,
        SwapDescription calldata desc,
        CallDescription[] calldata calls
    ) external payable returns (uint256 returnAmount) {
        require(desc.minReturnAmount > 0, "Min return should not be 0");
        require(calls.length > 0, "Call data should exist");
        require(msg.value == 0, "Invalid msg.value");
        if (desc.flags & SHOULD_CLAIM != 0) _claim(desc);
        address to = desc.dstReceiver == address(0) ? msg.sender : desc.dstReceiver;
        bool partial_ = desc.flags & PARTIAL_FILL != 0;
        uint256 sold = partial_ ? IERC20(desc.srcToken).balanceOf(msg.sender) : 0;
        uint256 before = IERC20(desc.dstToken).balanceOf(to);
        _makeCalls(caller, calls);
        returnAmount = IERC20(desc.dstToken).balanceOf(to) - before;
        uint256 spent = desc.amount;
        if (partial_) spent = sold + desc.amount - IERC20(desc.srcToken).balanceOf(msg.sender);
        require(
            returnAmount * desc.amount >= desc.minReturnAmount * spent,
            "Return amount is not enough"
        );
    }

    function callUniswap(
        address srcToken,
        uint256 amount,
        uint256 minReturn,
        bytes32[] calldata pools
    ) external payable returns (uint256) {
        return callUniswapTo(srcToken, amount, minReturn, pools, msg.sender);
    }

    /// Any address can be a pair; its reports of reserves and tokens are not checked.
    function callUniswapTo(
        address srcToken,
        uint256 amount,
        uint256 minReturn,
        bytes32[] calldata pools,
        address recipient
    ) public payable returns (uint256 out) {
        srcToken.move(msg.sender, address(uint160(uint256(pools[0]))), amount);
        out = amount;
        for (uint256 i = 0; i < pools.length; i++) {
            address next = i + 1 < pools.length ? address(uint160(uint256(pools[i + 1]))) : address(this);
            out = _v2(uint256(pools[i]), out, next);
        }
        require(out >= minReturn, "Min return not reached");
        uint256 last = uint256(pools[pools.length - 1]);
        IPoolFacts pool = IPoolFacts(address(uint160(last)));
        address bought = last >> 255 == 1 ? pool.token0() : pool.token1();
        _payAtMost(bought, recipient, out, minReturn, uint256(pools[0]));
    }

    /// The first pool determines the token that is pulled, the last one the token that is paid.
    function uniswapV3SwapTo(
        address recipient,
        uint256 amount,
        uint256 minReturn,
        uint256[] calldata pools
    ) external payable returns (uint256 out) {
        require(pools.length > 0, "UniswapV3: empty pools");
        out = amount;
        for (uint256 i = 0; i < pools.length; i++) {
            out = _v3(pools[i], out, i == 0 ? msg.sender : address(this));
        }
        require(out >= minReturn, "UniswapV3: min return");
        uint256 last = pools[pools.length - 1];
        IPoolFacts pool = IPoolFacts(address(uint160(last)));
        address bought = last >> 255 == 0 ? pool.token1() : pool.token0();
        _payAtMost(bought, recipient, out, minReturn, pools[0]);
    }

    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external {
        IPoolFacts pool = IPoolFacts(msg.sender);
        (address token0, address token1) = (pool.token0(), pool.token1());
        require(Uniswap.pool(token0, token1, pool.fee()) == msg.sender, "UNIV3R: bad pool");
        address payer = abi.decode(data, (address));
        (address token, uint256 amount) = amount0 > 0
            ? (token0, uint256(amount0))
            : (token1, uint256(amount1));
        if (payer == address(this)) token.send(msg.sender, amount);
        else token.move(payer, msg.sender, amount);
    }

    /// 7 or 8 words are the token's own permit, any other length is for Permit2.
    function _claim(SwapDescription calldata desc) private {
        if (desc.permit.length != 0) {
            require(desc.permit.length == 224 || desc.permit.length == 256, "Wrong permit length");
            desc.srcToken.permit(desc.permit);
        }
        desc.srcToken.move(msg.sender, desc.srcReceiver, desc.amount);
    }

    function _makeCalls(address caller, CallDescription[] calldata calls) private {
        (bool ok, bytes memory answer) = caller.call(
            abi.encodeWithSignature("makeCalls((uint256,uint256,uint256,bytes)[])", calls)
        );
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
    }

    function _v2(uint256 word, uint256 amount, address to) private returns (uint256 out) {
        IV2Pair pool = IV2Pair(address(uint160(word)));
        bool reversed = word >> 255 == 1;
        (uint256 reserveIn, uint256 reserveOut, ) = pool.getReserves();
        if (reversed) (reserveIn, reserveOut) = (reserveOut, reserveIn);
        unchecked {
            out = amount * uint32(word >> 160);
            out = (out * reserveOut) / (out + reserveIn * 1_000_000_000);
        }
        pool.swap(reversed ? out : 0, reversed ? 0 : out, to, "");
    }

    function _v3(uint256 word, uint256 amount, address payer) private returns (uint256) {
        bool forward = word >> 255 == 0;
        (int256 amount0, int256 amount1) = IV3Pool(address(uint160(word))).swap(
            address(this),
            forward,
            int256(amount),
            Uniswap.priceLimit(forward),
            abi.encode(payer)
        );
        return uint256(-(forward ? amount1 : amount0));
    }

    /// Keeps what exceeds the minimum by more than the slippage in the first pool word.
    function _payAtMost(address token, address to, uint256 out, uint256 least, uint256 first) private {
        uint256 most;
        unchecked {
            most = (least * 10_000) / (10_000 - uint256(uint16(first >> 232)));
        }
        token.send(to, out > most ? most : out);
        if (out > most) token.send(SURPLUS, out - most);
    }
}
