// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20, SafeToken} from "./SafeToken.sol";
import {Swapper} from "./Swapper.sol";

/// Speaks the calldata of Sushi's RedSnwapper; `executorData` is the route. As the original, it
/// measures the minimum by what the recipient gained.
contract SushiSnwapper is Swapper {
    using SafeToken for address;

    function snwap(
        address tokenIn,
        uint256 amountIn,
        address recipient,
        address tokenOut,
        uint256 amountOutMin,
        address,
        bytes calldata executorData
    ) external payable returns (uint256 amountOut) {
        uint256 before = IERC20(tokenOut).balanceOf(recipient);
        uint256 bought = _swap(executorData, tokenIn.pull(msg.sender, amountIn));
        tokenOut.send(recipient, bought);
        amountOut = IERC20(tokenOut).balanceOf(recipient) - before;
        _atLeast(amountOut, amountOutMin);
    }
}
