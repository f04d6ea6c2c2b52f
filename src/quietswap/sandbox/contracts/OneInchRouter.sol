// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";
import {Swapper} from "./Swapper.sol";

/// Speaks the calldata of 1inch's AggregationRouterV6; `data` is the route.
contract OneInchRouter is Swapper {
    using SafeToken for address;

    struct SwapDescription {
        address srcToken;
        address dstToken;
        address srcReceiver;
        address dstReceiver;
        uint256 amount;
        uint256 minReturnAmount;
        uint256 flags;
    }

    function swap(
        address,
        SwapDescription calldata desc,
        bytes calldata data
    ) external payable returns (uint256 returnAmount, uint256 spentAmount) {
        spentAmount = desc.amount;
        returnAmount = _swap(data, desc.srcToken.pull(msg.sender, desc.amount));
        _atLeast(returnAmount, desc.minReturnAmount);
        address to = desc.dstReceiver == address(0) ? msg.sender : desc.dstReceiver;
        desc.dstToken.send(to, returnAmount);
    }
}
