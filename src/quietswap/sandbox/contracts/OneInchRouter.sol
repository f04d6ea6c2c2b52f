// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";
import {OneInchUnoswap} from "./OneInchUnoswap.sol";

/// Behaves as 1inch's AggregationRouterV6 for token to token swaps, without limit orders.
contract OneInchRouter is OneInchUnoswap {
    using SafeToken for address;

    error ZeroMinReturn();
    error InvalidMsgValue();
    error SafePermitBadLength();

    uint256 private constant PARTIAL_FILL = 1;
    uint256 private constant REQUIRES_EXTRA_ETH = 2;
    uint256 private constant USE_PERMIT2 = 4;

    struct SwapDescription {
        address srcToken;
        address dstToken;
        address srcReceiver;
        address dstReceiver;
        uint256 amount;
        uint256 minReturnAmount;
        uint256 flags;
    }

    /// Compares the executor's answer with the minimum and sends that amount from this contract, so
    /// the call reverts when the answer is false.
    function swap(
        address executor,
        SwapDescription calldata desc,
        bytes calldata data
    ) external payable returns (uint256 returnAmount, uint256 spentAmount) {
        if (desc.minReturnAmount == 0) revert ZeroMinReturn();
        bool extra = desc.flags & REQUIRES_EXTRA_ETH != 0;
        if (extra == (msg.value == 0)) revert InvalidMsgValue();
        desc.srcToken.moveUniversal(
            msg.sender,
            desc.srcReceiver,
            desc.amount,
            desc.flags & USE_PERMIT2 != 0
        );
        returnAmount = _execute(executor, desc.amount, data);
        spentAmount = desc.amount;
        uint256 least = desc.minReturnAmount;
        if (desc.flags & PARTIAL_FILL != 0) {
            spentAmount -= _returnUnspent(desc.srcToken);
            least = (least * spentAmount + desc.amount - 1) / desc.amount;
        }
        if (returnAmount < least) revert ReturnAmountIsNotEnough(returnAmount, least);
        address to = desc.dstReceiver == address(0) ? msg.sender : desc.dstReceiver;
        if (returnAmount > 0) desc.dstToken.send(to, returnAmount);
    }

    function clipperSwap(
        address exchange,
        uint256 srcToken,
        address dstToken,
        uint256 inputAmount,
        uint256 outputAmount,
        uint256 goodUntil,
        bytes32 r,
        bytes32 vs
    ) external payable returns (uint256) {
        address to = msg.sender;
        return clipperSwapTo(exchange, to, srcToken, dstToken, inputAmount, outputAmount, goodUntil, r, vs);
    }

    /// The named exchange receives the tokens; its output is not checked.
    function clipperSwapTo(
        address exchange,
        address recipient,
        uint256 srcToken,
        address dstToken,
        uint256 inputAmount,
        uint256 outputAmount,
        uint256 goodUntil,
        bytes32,
        bytes32
    ) public payable returns (uint256) {
        address token = address(uint160(srcToken));
        token.moveUniversal(msg.sender, exchange, inputAmount, srcToken >> 255 == 1);
        bytes memory data = abi.encodeWithSignature(
            "swap(address,address,uint256,uint256,uint256,address)",
            token,
            dstToken,
            inputAmount,
            outputAmount,
            goodUntil,
            recipient
        );
        _bubble(exchange, data);
        return outputAmount;
    }

    /// A permit, which may fail but has a known length, and then any method of this contract.
    function permitAndCall(bytes calldata permit, bytes calldata action) external payable {
        uint256 size = permit.length - 20;
        if (size != 72 && size != 96 && size != 100 && size != 224 && size != 256 && size != 352) {
            revert SafePermitBadLength();
        }
        (bool ok, ) = address(bytes20(permit)).call(bytes.concat(bytes4(0xd505accf), permit[20:]));
        bytes memory answer;
        (ok, answer) = address(this).delegatecall(action);
        if (!ok) _revertWith(answer);
    }

    function _execute(address executor, uint256 amount, bytes calldata data) private returns (uint256) {
        bytes memory answer = _bubble(
            executor,
            bytes.concat(bytes4(0x4b64e492), bytes32(uint256(uint160(msg.sender))), data, bytes32(amount))
        );
        return answer.length < 32 ? 0 : abi.decode(answer, (uint256));
    }

    function _returnUnspent(address token) private returns (uint256 unspent) {
        unspent = token.held();
        if (unspent <= 1) return 0;
        unspent -= 1;
        token.send(msg.sender, unspent);
    }
}
