// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Hop, Swapper} from "./Pools.sol";
import {IERC20, SafeToken} from "./SafeToken.sol";

/// The executor behind a vendor's router: the router sends tokens, calls one of these functions
/// and checks what it received. On mainnet every vendor has its own executor.
///
/// A plan is `abi.encode(uint256 deadline, address to, Hop[])`: deadline in Unix seconds, 0 for
/// none; `to` receives the output, zero is the caller. It sells all its tokens but one unit.
contract Executor is Swapper {
    using SafeToken for address;

    error Expired(uint256 deadline);

    receive() external payable {}

    /// Velora: a selector of zeros, the plan, the amount and the sender.
    fallback() external payable {
        _run(msg.data[4:msg.data.length - 64]);
    }

    /// 1inch: the plan and the amount follow the owner; the router compares the answer.
    function execute(address) external payable returns (uint256) {
        return _run(msg.data[36:msg.data.length - 32]);
    }

    /// KyberSwap, and Sushi's executor in the sandbox.
    function callBytes(bytes calldata plan) external payable {
        _run(plan);
    }

    /// KyberSwap's simple mode: the tokens have already arrived.
    function swapSingleSequence(bytes calldata plan) external {
        _run(plan);
    }

    function finalTransactionProcessing(address, address bought, address to, bytes calldata) external {
        bought.send(to, bought.held() - 1);
    }

    /// 0x's BASIC action: Settler has approved `amount` of the first token.
    function sell(uint256 amount, bytes calldata plan) external {
        (, , Hop[] memory hops) = abi.decode(plan, (uint256, address, Hop[]));
        hops[0].tokenIn.move(msg.sender, address(this), amount);
        _run(plan);
    }

    /// Returns the gain of `to`, which is less than the output for a token with a transfer fee.
    function _run(bytes calldata plan) private returns (uint256) {
        (uint256 deadline, address to, Hop[] memory hops) = abi.decode(plan, (uint256, address, Hop[]));
        if (deadline != 0 && block.timestamp > deadline) revert Expired(deadline);
        uint256 bought = _swap(hops, hops[0].tokenIn.held() - 1);
        if (to == address(0)) to = msg.sender;
        if (to == address(this)) return bought;
        address token = hops[hops.length - 1].tokenOut;
        uint256 before = IERC20(token).balanceOf(to);
        token.send(to, bought);
        return IERC20(token).balanceOf(to) - before;
    }
}
