// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Uniswap's multicall with a gas limit for each call (github.com/Uniswap/v3-periphery, lens).
///
/// As there, a call gets less than its limit where less is left, and no call makes the others fail.
contract LimitedMulticall {
    struct Call {
        address target;
        uint256 gasLimit;
        bytes callData;
    }

    struct Result {
        bool success;
        uint256 gasUsed;
        bytes returnData;
    }

    function multicall(Call[] memory calls) external returns (uint256 number, Result[] memory results) {
        number = block.number;
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            uint256 left = gasleft();
            (bool ok, bytes memory answer) = calls[i].target.call{gas: calls[i].gasLimit}(calls[i].callData);
            results[i] = Result(ok, left - gasleft(), answer);
        }
    }
}
