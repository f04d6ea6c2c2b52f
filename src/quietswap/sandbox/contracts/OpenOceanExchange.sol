// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";
import {Swapper} from "./Swapper.sol";

/// Speaks the calldata of OpenOcean's ExchangeV2; the data of the first call is the route.
contract OpenOceanExchange is Swapper {
    using SafeToken for address;

    struct SwapDescription {
        address srcToken;
        address dstToken;
        address srcReceiver;
        address dstReceiver;
        uint256 amount;
        uint256 minReturnAmount;
        uint256 guaranteedAmount;
        uint256 flags;
        address referrer;
        bytes permit;
    }

    struct CallDescription {
        uint256 target;
        uint256 gasLimit;
        uint256 value;
        bytes data;
    }

    function swap(
        address,
        SwapDescription calldata desc,
        CallDescription[] calldata calls
    ) external payable returns (uint256 returnAmount) {
        uint256 amount = desc.srcToken.pull(msg.sender, desc.amount);
        returnAmount = _swap(calls[0].data, amount);
        _atLeast(returnAmount, desc.minReturnAmount);
        desc.dstToken.send(desc.dstReceiver, returnAmount);
    }
}
