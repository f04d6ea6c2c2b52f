// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20, SafeToken} from "./SafeToken.sol";

address constant SAFE_EXECUTOR = 0x5AFE0000000000000000000000000000000E8eC1;

/// Calls any given target. It holds no allowances, so nothing can be taken through it. On mainnet
/// RedSnwapper's constructor creates it; here it has a fixed address.
contract SushiSafeExecutor {
    struct Executor {
        address executor;
        uint256 value;
        bytes data;
    }

    function execute(address executor, bytes calldata data) external payable {
        _call(executor, msg.value, data);
    }

    function executeMultiple(Executor[] calldata executors) external payable {
        for (uint256 i = 0; i < executors.length; i++) {
            _call(executors[i].executor, executors[i].value, executors[i].data);
        }
    }

    function _call(address target, uint256 value, bytes calldata data) private {
        (bool ok, bytes memory answer) = target.call{value: value}(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
    }
}

/// Behaves as Sushi's RedSnwapper: any executor, any data; checks the recipient's gain.
contract SushiSnwapper {
    using SafeToken for address;

    error MinimalOutputBalanceViolation(address tokenOut, uint256 amountOut);

    struct InputToken {
        address token;
        uint256 amountIn;
        address transferTo;
    }

    struct OutputToken {
        address token;
        address recipient;
        uint256 amountOutMin;
    }

    function snwap(
        address tokenIn,
        uint256 amountIn,
        address recipient,
        address tokenOut,
        uint256 amountOutMin,
        address executor,
        bytes calldata executorData
    ) external payable returns (uint256 amountOut) {
        uint256 before = IERC20(tokenOut).balanceOf(recipient);
        _hand(tokenIn, amountIn, executor);
        SushiSafeExecutor(SAFE_EXECUTOR).execute{value: msg.value}(executor, executorData);
        amountOut = IERC20(tokenOut).balanceOf(recipient) - before;
        if (amountOut < amountOutMin) revert MinimalOutputBalanceViolation(tokenOut, amountOut);
    }

    /// Takes any list of tokens, and checks only the listed outputs.
    function snwapMultiple(
        InputToken[] calldata inputs,
        OutputToken[] calldata outputs,
        SushiSafeExecutor.Executor[] calldata executors
    ) external payable returns (uint256[] memory amountOut) {
        amountOut = new uint256[](outputs.length);
        for (uint256 i = 0; i < outputs.length; i++) {
            amountOut[i] = IERC20(outputs[i].token).balanceOf(outputs[i].recipient);
        }
        for (uint256 i = 0; i < inputs.length; i++) {
            _hand(inputs[i].token, inputs[i].amountIn, inputs[i].transferTo);
        }
        SushiSafeExecutor(SAFE_EXECUTOR).executeMultiple{value: msg.value}(executors);
        for (uint256 i = 0; i < outputs.length; i++) {
            amountOut[i] = IERC20(outputs[i].token).balanceOf(outputs[i].recipient) - amountOut[i];
            bool short = amountOut[i] < outputs[i].amountOutMin;
            if (short) revert MinimalOutputBalanceViolation(outputs[i].token, amountOut[i]);
        }
    }

    /// An amount of 0 stands for the router's own balance.
    function _hand(address token, uint256 amount, address to) private {
        if (amount > 0) token.move(msg.sender, to, amount);
        else token.send(to, token.held() - 1);
    }
}
