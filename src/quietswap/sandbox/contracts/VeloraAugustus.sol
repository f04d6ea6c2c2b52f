// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IV2Pair, IV3Pool} from "./Pools.sol";
import {SafeToken} from "./SafeToken.sol";
import {Uniswap} from "./Uniswap.sol";
import {VeloraFees} from "./VeloraFees.sol";

/// Behaves as Velora's Augustus v6.2 for exact amounts of sold tokens. The minimum is compared with
/// the router's balance of the bought token, for UniswapV3 with the sum of the pools' reports.
contract VeloraAugustus is VeloraFees {
    using SafeToken for address;

    error CallbackTransferFailed();
    error InsufficientReturnAmount();
    error InvalidCaller();
    error InvalidToAmount();
    error Permit2Failed();

    /// Code that the owner adds for further selectors; the sandbox is the owner.
    mapping(bytes4 => address) private facets;

    struct GenericData {
        address srcToken;
        address destToken;
        uint256 fromAmount;
        uint256 toAmount;
        uint256 quotedAmount;
        bytes32 metadata;
        address beneficiary;
    }

    struct UniswapData {
        address srcToken;
        address destToken;
        uint256 fromAmount;
        uint256 toAmount;
        uint256 quotedAmount;
        bytes32 metadata;
        address beneficiary;
        bytes pools;
    }

    struct CurveV1Data {
        uint256 curveData;
        uint256 curveAssets;
        address srcToken;
        address destToken;
        uint256 fromAmount;
        uint256 toAmount;
        uint256 quotedAmount;
        bytes32 metadata;
        address beneficiary;
    }

    struct CurveV2Data {
        uint256 curveData;
        uint256 i;
        uint256 j;
        address poolAddress;
        address srcToken;
        address destToken;
        uint256 fromAmount;
        uint256 toAmount;
        uint256 quotedAmount;
        bytes32 metadata;
        address beneficiary;
    }

    receive() external payable {}

    fallback() external payable {
        address facet = facets[msg.sig];
        require(facet != address(0));
        (bool ok, bytes memory answer) = facet.delegatecall(msg.data);
        if (!ok) _revertWith(answer);
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }

    function swapExactAmountIn(
        address executor,
        GenericData calldata data,
        uint256 partnerAndFee,
        bytes calldata permit,
        bytes calldata executorData
    ) external payable returns (uint256, uint256, uint256) {
        if (data.toAmount == 0) revert InvalidToAmount();
        _pull(data.srcToken, executor, data.fromAmount, permit);
        _bubble(
            executor,
            bytes.concat(bytes4(0), executorData, bytes32(data.fromAmount), bytes32(uint256(uint160(msg.sender))))
        );
        address to = data.beneficiary;
        return _settle(to, data.destToken, partnerAndFee, data.toAmount, data.quotedAmount);
    }

    /// Pulls `srcToken`; the groups of `pools` only name the targets.
    function swapExactAmountInOnUniswapV2(
        UniswapData calldata data,
        uint256 partnerAndFee,
        bytes calldata permit
    ) external payable returns (uint256, uint256, uint256) {
        if (data.toAmount == 0) revert InvalidToAmount();
        _swapV2(data.srcToken, data.fromAmount, data.pools, permit);
        address to = data.beneficiary;
        return _settle(to, data.destToken, partnerAndFee, data.toAmount, data.quotedAmount);
    }

    /// Pulls the first token of `pools`, which may differ from `srcToken`.
    function swapExactAmountInOnUniswapV3(
        UniswapData calldata data,
        uint256 partnerAndFee,
        bytes calldata permit
    ) external payable returns (uint256, uint256, uint256) {
        if (data.toAmount == 0) revert InvalidToAmount();
        if (permit.length > 256) revert Permit2Failed();
        if (permit.length > 0) data.srcToken.permit(permit);
        uint256 received = _swapV3(data.fromAmount, data.pools);
        if (received < data.toAmount) revert InsufficientReturnAmount();
        address to = data.beneficiary == address(0) ? msg.sender : data.beneficiary;
        return _pay(to, data.destToken, partnerAndFee, received, data.quotedAmount, 0);
    }

    function swapExactAmountInOnCurveV1(
        CurveV1Data calldata data,
        uint256 partnerAndFee,
        bytes calldata permit
    ) external payable returns (uint256, uint256, uint256) {
        if (data.toAmount == 0) revert InvalidToAmount();
        _pull(data.srcToken, address(this), data.fromAmount, permit);
        _exchange(data.curveData, data.srcToken, _curveV1(data));
        address to = data.beneficiary;
        return _settle(to, data.destToken, partnerAndFee, data.toAmount, data.quotedAmount);
    }

    function swapExactAmountInOnCurveV2(
        CurveV2Data calldata data,
        uint256 partnerAndFee,
        bytes calldata permit
    ) external payable returns (uint256, uint256, uint256) {
        if (data.toAmount == 0) revert InvalidToAmount();
        _pull(data.srcToken, address(this), data.fromAmount, permit);
        _exchange(data.curveData, data.srcToken, _curveV2(data));
        address to = data.beneficiary;
        return _settle(to, data.destToken, partnerAndFee, data.toAmount, data.quotedAmount);
    }

    /// Pays a pool of Uniswap's factory from the payer's balance: a wallet's or its own.
    /// The data have a word, the payer, and one group of `pools`.
    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external {
        (, address payer, uint256 first, address token1, uint256 fee) = abi.decode(
            data,
            (uint256, address, uint256, address, uint256)
        );
        address token0 = address(uint160(first));
        if (Uniswap.pool(token0, token1, fee) != msg.sender) revert InvalidCaller();
        (address token, uint256 amount) = amount1 > 0
            ? (token1, uint256(amount1))
            : (token0, uint256(amount0));
        if (payer == address(this)) token.send(msg.sender, amount);
        else token.move(payer, msg.sender, amount);
    }

    /// A permit field of up to 256 bytes is run on the sold token, a longer one goes to Permit2,
    /// which the sandbox does not have.
    function _pull(address token, address to, uint256 amount, bytes calldata permit) private {
        if (permit.length > 256) revert Permit2Failed();
        if (permit.length > 0) token.permit(permit);
        token.move(msg.sender, to, amount);
    }

    function _settle(
        address to,
        address token,
        uint256 partnerAndFee,
        uint256 least,
        uint256 quoted
    ) private returns (uint256, uint256, uint256) {
        uint256 received = token.held();
        if (received < least) revert InsufficientReturnAmount();
        if (to == address(0)) to = msg.sender;
        return _pay(to, token, partnerAndFee, received, quoted, 1);
    }

    /// A group: token0 and token1 packed in 40 bytes, the direction in the lowest bit of 64 bytes.
    function _swapV2(address token, uint256 amount, bytes calldata pools, bytes calldata permit) private {
        if (permit.length > 256) revert Permit2Failed();
        if (permit.length > 0) token.permit(permit);
        for (uint256 start = 0; start + 64 <= pools.length; start += 64) {
            address pool = _pair(pools[start:]);
            // as in the original there is no check that the pair was paid: else it pays nothing
            if (start == 0) {
                (bool ok, ) = token.call(
                    abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, pool, amount)
                );
                ok;
            }
            bool forward = uint8(pools[start + 63]) & 1 == 1;
            amount = _v2Out(pool, amount, forward);
            address to = start + 128 <= pools.length ? _pair(pools[start + 64:]) : address(this);
            IV2Pair(pool).swap(forward ? 0 : amount, forward ? amount : 0, to, "");
        }
    }

    function _swapV3(uint256 amount, bytes calldata pools) private returns (uint256) {
        address payer = msg.sender;
        for (uint256 start = 0; start + 96 <= pools.length; start += 96) {
            (uint256 first, address token1, uint256 fee) = abi.decode(pools[start:start + 96], (uint256, address, uint256));
            bool forward = first >> 255 == 1;
            (int256 amount0, int256 amount1) = IV3Pool(Uniswap.pool(address(uint160(first)), token1, fee)).swap(
                address(this),
                forward,
                int256(amount),
                Uniswap.priceLimit(forward),
                abi.encode(0, payer, first, token1, fee)
            );
            amount = uint256(-(forward ? amount1 : amount0));
            payer = address(this);
        }
        return amount;
    }

    function _exchange(
        uint256 curveData,
        address token,
        bytes memory swap
    ) private {
        address exchange = address(uint160(curveData));
        // wraps and unwraps ETH, which the sandbox does not trade
        require((curveData >> 161) & 3 == 0);
        if ((curveData >> 160) & 1 == 1) token.approve(exchange, type(uint256).max);
        _bubble(exchange, swap);
    }

    function _curveV1(CurveV1Data calldata data) private pure returns (bytes memory) {
        string memory method = (data.curveData >> 163) & 3 == 1
            ? "exchange_underlying(int128,int128,uint256,uint256)"
            : "exchange(int128,int128,uint256,uint256)";
        (uint256 i, uint256 j) = (data.curveAssets >> 128, uint128(data.curveAssets));
        return abi.encodeWithSignature(method, i, j, data.fromAmount, 1);
    }

    /// The swap type: 1 the underlying tokens, 2 through a zap that is told the pool.
    function _curveV2(CurveV2Data calldata data) private pure returns (bytes memory) {
        uint256 kind = (data.curveData >> 163) & 3;
        (uint256 i, uint256 j, uint256 amount) = (data.i, data.j, data.fromAmount);
        if (kind == 2) {
            string memory zap = "exchange(address,uint256,uint256,uint256,uint256)";
            return abi.encodeWithSignature(zap, data.poolAddress, i, j, amount, 1);
        }
        string memory method = kind == 1
            ? "exchange_underlying(uint256,uint256,uint256,uint256)"
            : "exchange(uint256,uint256,uint256,uint256)";
        return abi.encodeWithSignature(method, i, j, amount, 1);
    }

    function _bubble(address target, bytes memory data) private {
        (bool ok, bytes memory answer) = target.call{value: msg.value}(data);
        if (!ok) _revertWith(answer);
    }

    function _revertWith(bytes memory answer) private pure {
        assembly ("memory-safe") {
            revert(add(answer, 32), mload(answer))
        }
    }

    function _pair(bytes calldata group) private pure returns (address) {
        return Uniswap.pair(address(bytes20(group[:20])), address(bytes20(group[20:40])));
    }

    function _v2Out(address pool, uint256 amount, bool forward) private view returns (uint256) {
        (uint256 reserveIn, uint256 reserveOut, ) = IV2Pair(pool).getReserves();
        if (!forward) (reserveIn, reserveOut) = (reserveOut, reserveIn);
        unchecked {
            return (amount * 9970 * reserveOut) / (reserveIn * 10_000 + amount * 9970);
        }
    }
}
