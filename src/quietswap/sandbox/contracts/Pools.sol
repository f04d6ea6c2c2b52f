// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20, SafeToken} from "./SafeToken.sol";

interface IV2Pair {
    function getReserves() external view returns (uint112 reserve0, uint112 reserve1, uint32 time);

    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata data) external;
}

interface IV3Pool {
    function swap(
        address recipient,
        bool zeroForOne,
        int256 amountSpecified,
        uint160 sqrtPriceLimitX96,
        bytes calldata data
    ) external returns (int256 amount0, int256 amount1);
}

/// One swap on one Uniswap pool, V3 or V2.
struct Hop {
    address pool;
    address tokenIn;
    address tokenOut;
    bool v3;
}

/// The pools' arithmetic, for swaps and for quotes.
library Pools {
    uint160 private constant MIN_SQRT_PRICE = 4295128740;
    uint160 private constant MAX_SQRT_PRICE = 1461446703485210103287273052203988822378723970341;

    function isForward(Hop memory hop) internal pure returns (bool) {
        return hop.tokenIn < hop.tokenOut;
    }

    /// No limit: the worst price a V3 pool accepts in this direction.
    function priceLimit(Hop memory hop) internal pure returns (uint160) {
        return isForward(hop) ? MIN_SQRT_PRICE : MAX_SQRT_PRICE;
    }

    function reserves(Hop memory hop) internal view returns (uint256 reserveIn, uint256 reserveOut) {
        (uint256 first, uint256 second, ) = IV2Pair(hop.pool).getReserves();
        return isForward(hop) ? (first, second) : (second, first);
    }

    /// UniswapV2Library.getAmountOut: 0.3 % stays in the pool.
    function v2Out(Hop memory hop, uint256 amountIn) internal view returns (uint256) {
        (uint256 reserveIn, uint256 reserveOut) = reserves(hop);
        return (amountIn * 997 * reserveOut) / (reserveIn * 1000 + amountIn * 997);
    }
}

/// Swaps tokens that it already holds, hop by hop.
abstract contract Swapper {
    using SafeToken for address;

    error NotThePool();

    address private transient calledPool;

    /// Pays a V3 pool, and only the pool that is being called.
    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external {
        if (msg.sender != calledPool) revert NotThePool();
        address(uint160(uint256(bytes32(data)))).send(
            msg.sender,
            uint256(amount0 > 0 ? amount0 : amount1)
        );
    }

    function _swap(Hop[] memory hops, uint256 amount) internal returns (uint256) {
        for (uint256 i = 0; i < hops.length; i++) {
            amount = _hop(hops[i], amount);
        }
        return amount;
    }

    function _hop(Hop memory hop, uint256 amount) private returns (uint256) {
        uint256 before = hop.tokenOut.held();
        if (hop.v3) _swapV3(hop, amount);
        else _swapV2(hop, amount);
        return hop.tokenOut.held() - before;
    }

    function _swapV2(Hop memory hop, uint256 amount) private {
        (uint256 reserveIn, ) = Pools.reserves(hop);
        hop.tokenIn.send(hop.pool, amount);
        uint256 arrived = IERC20(hop.tokenIn).balanceOf(hop.pool) - reserveIn;
        uint256 out = Pools.v2Out(hop, arrived);
        (uint256 out0, uint256 out1) = Pools.isForward(hop) ? (uint256(0), out) : (out, uint256(0));
        IV2Pair(hop.pool).swap(out0, out1, address(this), "");
    }

    function _swapV3(Hop memory hop, uint256 amount) private {
        calledPool = hop.pool;
        IV3Pool(hop.pool).swap(
            address(this),
            Pools.isForward(hop),
            int256(amount),
            Pools.priceLimit(hop),
            abi.encode(hop.tokenIn)
        );
        calledPool = address(0);
    }
}
