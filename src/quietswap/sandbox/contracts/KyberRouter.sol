// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";
import {Swapper} from "./Swapper.sol";

/// Speaks the calldata of KyberSwap's MetaAggregationRouterV2; `targetData` is the route.
contract KyberRouter is Swapper {
    using SafeToken for address;

    struct SwapDescriptionV2 {
        address srcToken;
        address dstToken;
        address[] srcReceivers;
        uint256[] srcAmounts;
        address[] feeReceivers;
        uint256[] feeAmounts;
        address dstReceiver;
        uint256 amount;
        uint256 minReturnAmount;
        uint256 flags;
        bytes permit;
    }

    struct SwapExecutionParams {
        address callTarget;
        address approveTarget;
        bytes targetData;
        SwapDescriptionV2 desc;
        bytes clientData;
    }

    function swap(
        SwapExecutionParams calldata execution
    ) external payable returns (uint256 returnAmount, uint256 gasUsed) {
        uint256 gasAtStart = gasleft();
        SwapDescriptionV2 calldata desc = execution.desc;
        uint256 amount = desc.srcToken.pull(msg.sender, desc.amount);
        returnAmount = _swap(execution.targetData, amount);
        _atLeast(returnAmount, desc.minReturnAmount);
        desc.dstToken.send(desc.dstReceiver, returnAmount);
        gasUsed = gasAtStart - gasleft();
    }
}
