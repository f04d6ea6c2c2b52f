// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";
import {Swapper} from "./Swapper.sol";

/// Speaks the calldata of Velora's Augustus v6.2; `executorData` is the route.
contract VeloraAugustus is Swapper {
    using SafeToken for address;

    struct GenericData {
        address srcToken;
        address destToken;
        uint256 fromAmount;
        uint256 toAmount;
        uint256 quotedAmount;
        bytes32 metadata;
        address beneficiary;
    }

    /// The partner's fee, the low bits of `partnerAndFee` in bps, comes off after the minimum was
    /// checked, as on mainnet; it stays here.
    function swapExactAmountIn(
        address,
        GenericData calldata swapData,
        uint256 partnerAndFee,
        bytes calldata,
        bytes calldata executorData
    ) external payable returns (uint256 receivedAmount, uint256 paraswapShare, uint256 partnerShare) {
        uint256 amount = swapData.srcToken.pull(msg.sender, swapData.fromAmount);
        uint256 bought = _swap(executorData, amount);
        _atLeast(bought, swapData.toAmount);
        partnerShare = (bought * (partnerAndFee & 0x3FFF)) / 10_000;
        receivedAmount = bought - partnerShare;
        address to = swapData.beneficiary == address(0) ? msg.sender : swapData.beneficiary;
        swapData.destToken.send(to, receivedAmount);
        paraswapShare = 0;
    }
}
