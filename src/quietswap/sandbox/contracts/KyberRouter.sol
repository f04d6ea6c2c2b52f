// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20, SafeToken} from "./SafeToken.sol";

interface IKyberExecutor {
    function callBytes(bytes calldata data) external payable;

    function swapSingleSequence(bytes calldata data) external;

    function finalTransactionProcessing(
        address tokenIn,
        address tokenOut,
        address to,
        bytes calldata destTokenFeeData
    ) external;
}

/// Behaves as KyberSwap's MetaAggregationRouterV2 for token to token swaps: the minimum is compared
/// with the recipient's gain. Flag 0x200 of all live answers is not read.
contract KyberRouter {
    using SafeToken for address;

    uint256 private constant PARTIAL_FILL = 0x01;
    uint256 private constant SHOULD_CLAIM = 0x04;
    uint256 private constant SIMPLE_SWAP = 0x20;
    uint256 private constant FEE_ON_DST = 0x40;
    uint256 private constant FEE_IN_BPS = 0x80;
    uint256 private constant APPROVE_FUND = 0x100;

    /// In slot 0, as in the original: the list is in slot 1.
    address private _owner;
    /// Targets of `swapGeneric` that the router's owner allowed; the sandbox is the owner.
    mapping(address => bool) public isWhitelist;

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

    struct SimpleSwapData {
        address[] firstPools;
        uint256[] firstSwapAmounts;
        bytes[] swapDatas;
        uint256 deadline;
        bytes destTokenFeeData;
    }

    function swap(
        SwapExecutionParams calldata execution
    ) external payable returns (uint256 returnAmount, uint256 gasUsed) {
        uint256 gasAtStart = gasleft();
        SwapDescriptionV2 memory desc = execution.desc;
        require(desc.minReturnAmount > 0, "Min return should not be 0");
        require(execution.targetData.length > 0, "executorData should be not zero");
        if (desc.flags & SIMPLE_SWAP != 0) {
            return
                swapSimpleMode(execution.callTarget, desc, execution.targetData, execution.clientData);
        }
        require(msg.value == 0, "Invalid msg.value");
        _permit(desc.srcToken, execution.desc.permit);
        bytes memory data = abi.encodeCall(IKyberExecutor.callBytes, (execution.targetData));
        returnAmount = _swapAndCharge(desc, execution.callTarget, address(0), data, false);
        gasUsed = gasAtStart - gasleft();
    }

    /// Runs any data on any allowed target while this contract holds its users' allowances.
    function swapGeneric(
        SwapExecutionParams calldata execution
    ) external payable returns (uint256 returnAmount, uint256 gasUsed) {
        uint256 gasAtStart = gasleft();
        SwapDescriptionV2 memory desc = execution.desc;
        address approved = execution.approveTarget;
        require(isWhitelist[execution.callTarget], "Address not whitelisted");
        require(
            approved == execution.callTarget || approved == address(0) || isWhitelist[approved],
            "Address not whitelisted"
        );
        require(desc.minReturnAmount > 0, "Invalid min return amount");
        _permit(desc.srcToken, execution.desc.permit);
        bool claims = desc.flags & SHOULD_CLAIM != 0;
        returnAmount = _swapAndCharge(desc, execution.callTarget, approved, execution.targetData, claims);
        if (approved != address(0)) desc.srcToken.approve(approved, 0);
        gasUsed = gasAtStart - gasleft();
    }

    /// The executor trades what its first pools received; each draw is measured.
    function swapSimpleMode(
        address caller,
        SwapDescriptionV2 memory desc,
        bytes calldata executorData,
        bytes calldata
    ) public returns (uint256 returnAmount, uint256 gasUsed) {
        uint256 gasAtStart = gasleft();
        if (desc.permit.length != 0) this.permitFrom(desc.srcToken, desc.permit);
        address to = desc.dstReceiver == address(0) ? msg.sender : desc.dstReceiver;
        bool feeOnDst = desc.flags & FEE_ON_DST != 0;
        if (!feeOnDst) desc.amount = _takeFee(desc, desc.srcToken, msg.sender, desc.amount);
        address first = feeOnDst ? address(this) : to;
        uint256 before = _balance(desc.dstToken, first);
        uint256 sold = _balance(desc.srcToken, msg.sender);
        _runSequences(caller, desc, first, executorData);
        returnAmount = _balance(desc.dstToken, first) - before;
        if (feeOnDst) {
            returnAmount = _takeFee(desc, desc.dstToken, address(this), returnAmount);
            before = _balance(desc.dstToken, to);
            _transfer(desc.dstToken, address(this), to, returnAmount);
            returnAmount = _balance(desc.dstToken, to) - before;
        }
        _checkReturn(desc, sold - _balance(desc.srcToken, msg.sender), returnAmount);
        gasUsed = gasAtStart - gasleft();
    }

    /// Only this contract may call it: a permit in memory has no calldata.
    function permitFrom(address token, bytes calldata arguments) external {
        require(msg.sender == address(this));
        _permit(token, arguments);
    }

    function _swapAndCharge(
        SwapDescriptionV2 memory desc,
        address target,
        address approved,
        bytes memory data,
        bool claims
    ) private returns (uint256 returnAmount) {
        address to = desc.dstReceiver == address(0) ? msg.sender : desc.dstReceiver;
        bool feeOnDst = desc.flags & FEE_ON_DST != 0;
        if (!feeOnDst) desc.amount = _takeFee(desc, desc.srcToken, msg.sender, desc.amount);
        uint256 before = _balance(desc.dstToken, to);
        if (claims) desc.amount = _claim(desc);
        _distribute(desc, approved, claims);
        uint256 spent;
        (spent, returnAmount) = _execute(desc, target, data, feeOnDst ? address(this) : to, claims);
        if (feeOnDst) {
            uint256 left = _takeFee(desc, desc.dstToken, address(this), returnAmount);
            _transfer(desc.dstToken, address(this), to, left);
            returnAmount = _balance(desc.dstToken, to) - before;
        }
        _checkReturn(desc, spent, returnAmount);
    }

    function _execute(
        SwapDescriptionV2 memory desc,
        address target,
        bytes memory data,
        address to,
        bool claimed
    ) private returns (uint256 spent, uint256 returnAmount) {
        uint256 before = _balance(desc.dstToken, to);
        uint256 ownBought = _balance(desc.dstToken, address(this));
        uint256 ownSold = _balance(desc.srcToken, address(this));
        (bool ok, ) = target.call(data);
        require(ok, "Call failed");
        if (to != address(this)) {
            uint256 stuck = _balance(desc.dstToken, address(this)) - ownBought;
            _transfer(desc.dstToken, address(this), to, stuck);
        }
        returnAmount = _balance(desc.dstToken, to) - before;
        spent = desc.amount;
        if (desc.flags & PARTIAL_FILL != 0 && claimed) spent = _refund(desc, ownSold);
    }

    function _refund(SwapDescriptionV2 memory desc, uint256 before) private returns (uint256 spent) {
        spent = before - _balance(desc.srcToken, address(this));
        if (spent == 0) return desc.amount;
        _transfer(desc.srcToken, address(this), msg.sender, desc.amount - spent);
    }

    function _claim(SwapDescriptionV2 memory desc) private returns (uint256) {
        uint256 before = _balance(desc.srcToken, address(this));
        _transfer(desc.srcToken, msg.sender, address(this), desc.amount);
        return _balance(desc.srcToken, address(this)) - before;
    }

    function _distribute(SwapDescriptionV2 memory desc, address approved, bool claimed) private {
        require(desc.srcReceivers.length == desc.srcAmounts.length, "invalid srcReceivers length");
        if (claimed && desc.flags & APPROVE_FUND != 0 && approved != address(0)) {
            return desc.srcToken.approve(approved, desc.amount);
        }
        uint256 total;
        address from = claimed ? address(this) : msg.sender;
        for (uint256 i = 0; i < desc.srcReceivers.length; i++) {
            total += desc.srcAmounts[i];
            _transfer(desc.srcToken, from, desc.srcReceivers[i], desc.srcAmounts[i]);
        }
        require(total <= desc.amount, "Exceeded desc.amount");
    }

    function _runSequences(
        address caller,
        SwapDescriptionV2 memory desc,
        address to,
        bytes calldata executorData
    ) private {
        SimpleSwapData memory plan = abi.decode(executorData, (SimpleSwapData));
        require(plan.deadline >= block.timestamp, "ROUTER: Expired");
        require(
            plan.firstPools.length == plan.firstSwapAmounts.length &&
                plan.firstPools.length == plan.swapDatas.length,
            "invalid swap data length"
        );
        uint256 left = desc.amount;
        for (uint256 i = 0; i < plan.firstPools.length; i++) {
            uint256 before = _balance(desc.srcToken, msg.sender);
            _transfer(desc.srcToken, msg.sender, plan.firstPools[i], plan.firstSwapAmounts[i]);
            require(plan.firstSwapAmounts[i] <= left, "invalid swap amount");
            left -= before - _balance(desc.srcToken, msg.sender);
            IKyberExecutor(caller).swapSingleSequence(plan.swapDatas[i]);
        }
        IKyberExecutor(caller).finalTransactionProcessing(
            desc.srcToken,
            desc.dstToken,
            to,
            plan.destTokenFeeData
        );
    }

    function _takeFee(
        SwapDescriptionV2 memory desc,
        address token,
        address from,
        uint256 total
    ) private returns (uint256) {
        if (desc.feeReceivers.length == 0) return total;
        require(desc.feeAmounts.length == desc.feeReceivers.length, "Invalid length");
        uint256 before = _balance(token, from);
        bool inBps = desc.flags & FEE_IN_BPS != 0;
        for (uint256 i = 0; i < desc.feeReceivers.length; i++) {
            uint256 fee = inBps ? (total * desc.feeAmounts[i]) / 10_000 : desc.feeAmounts[i];
            _transfer(token, from, desc.feeReceivers[i], fee);
        }
        return total - (before - _balance(token, from));
    }

    function _checkReturn(SwapDescriptionV2 memory desc, uint256 spent, uint256 returned) private pure {
        bool enough = desc.flags & PARTIAL_FILL != 0
            ? returned * desc.amount >= desc.minReturnAmount * spent
            : returned >= desc.minReturnAmount;
        require(enough, "Return amount is not enough");
    }

    function _permit(address token, bytes calldata arguments) private {
        if (arguments.length == 224) token.permit(arguments);
    }

    function _transfer(address token, address from, address to, uint256 amount) private {
        require(from != to, "sender != recipient");
        if (amount == 0) return;
        if (from == address(this)) token.send(to, amount);
        else token.move(from, to, amount);
    }

    function _balance(address token, address owner) private view returns (uint256) {
        return IERC20(token).balanceOf(owner);
    }
}
