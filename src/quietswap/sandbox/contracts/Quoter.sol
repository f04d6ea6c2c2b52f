// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Hop, IV3Pool, Pools} from "./Pools.sol";

/// Returns the outputs of routes at this block, pool by pool, without swapping.
///
/// A token's transfer fees are not deducted, as in many vendors' quotes.
contract Quoter {
    /// Returns one amount per route, 0 where a pool is missing or too small.
    function quote(Hop[][] calldata routes, uint256 amountIn) external returns (uint256[] memory) {
        uint256[] memory amounts = new uint256[](routes.length);
        for (uint256 i = 0; i < routes.length; i++) {
            try this.along(routes[i], amountIn) returns (uint256 out) {
                amounts[i] = out;
            } catch {}
        }
        return amounts;
    }

    function along(Hop[] calldata hops, uint256 amount) external returns (uint256) {
        for (uint256 i = 0; i < hops.length; i++) {
            amount = hops[i].v3 ? _v3Out(hops[i], amount) : Pools.v2Out(hops[i], amount);
        }
        return amount;
    }

    /// Reverts with the amount, so that the pool undoes the swap. Only a swap of the whole
    /// input counts: a pool without enough liquidity has no price.
    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external pure {
        (int256 paid, int256 received) = amount0 > 0 ? (amount0, amount1) : (amount1, amount0);
        require(paid == abi.decode(data, (int256)));
        uint256 out = uint256(-received);
        assembly ("memory-safe") {
            mstore(0, out)
            revert(0, 32)
        }
    }

    function _v3Out(Hop calldata hop, uint256 amount) private returns (uint256) {
        bool forward = Pools.isForward(hop);
        uint160 limit = Pools.priceLimit(hop);
        try IV3Pool(hop.pool).swap(address(this), forward, int256(amount), limit, abi.encode(amount)) {
            revert();
        } catch (bytes memory answer) {
            require(answer.length == 32);
            return abi.decode(answer, (uint256));
        }
    }
}
