// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// `execute` of Uniswap's Calibur (github.com/Uniswap/calibur, commit 35d8091), the code of a wallet
/// that delegates to it (EIP-7702). As there, a batch may also go on after a call that failed, and
/// address 0 is the wallet. Not there: other keys than the wallet's own, and their hooks.
contract Calibur {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    bytes32 constant BATCHED_CALL = 0x0100000000000000000000000000000000000000000000000000000000000000;
    bytes32 constant BATCHED_CAN_REVERT_CALL = 0x0101000000000000000000000000000000000000000000000000000000000000;

    error UnsupportedExecutionMode();
    error Unauthorized();
    error CallFailed(bytes reason);

    function execute(bytes32 mode, bytes calldata executionData) external payable {
        if (!supportsExecutionMode(mode)) revert UnsupportedExecutionMode();
        Call[] memory calls = abi.decode(executionData, (Call[]));
        if (msg.sender != address(this)) revert Unauthorized();
        for (uint256 i = 0; i < calls.length; i++) {
            address to = calls[i].to == address(0) ? address(this) : calls[i].to;
            (bool ok, bytes memory answer) = to.call{value: calls[i].value}(calls[i].data);
            if (!ok && mode == BATCHED_CALL) revert CallFailed(answer);
        }
    }

    function supportsExecutionMode(bytes32 mode) public pure returns (bool) {
        return mode == BATCHED_CALL || mode == BATCHED_CAN_REVERT_CALL;
    }

    receive() external payable {}
}
