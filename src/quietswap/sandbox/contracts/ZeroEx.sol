// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";
import {Swapper} from "./Swapper.sol";

address constant ALLOWANCE_HOLDER = 0x0000000000001fF3684f28c67538d4D072C22734;
// The sandbox's own address: on mainnet every release of Settler has another.
address constant SETTLER = 0x5e77137200000000000000000000000000000001;

/// Speaks the calldata of 0x's AllowanceHolder: users approve it, and for the length of one call
/// it lets Settler draw on that approval. Other targets than Settler are refused.
contract ZeroExAllowanceHolder {
    error NotAllowed();

    address private transient spendable;
    address private transient owner;
    uint256 private transient left;

    function exec(
        address operator,
        address token,
        uint256 amount,
        address payable target,
        bytes calldata data
    ) external payable returns (bytes memory result) {
        if (operator != SETTLER || target != SETTLER) revert NotAllowed();
        (spendable, owner, left) = (token, msg.sender, amount);
        bool ok;
        (ok, result) = target.call{value: msg.value}(abi.encodePacked(data, msg.sender));
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(result, 32), mload(result))
            }
        }
        left = 0;
    }

    function transferFrom(address token, address from, address to, uint256 amount) external returns (bool) {
        bool allowed = msg.sender == SETTLER && token == spendable && from == owner && amount <= left;
        if (!allowed) revert NotAllowed();
        left -= amount;
        SafeToken.move(token, from, to, amount);
        return true;
    }
}

/// Speaks the calldata of 0x's Settler. Its first action is
/// `abi.encode(address sellToken, uint256 amount, bytes route)`; AllowanceHolder has put the
/// payer's address behind the calldata (ERC-2771).
contract ZeroExSettler is Swapper {
    using SafeToken for address;

    error NotAllowed();

    struct AllowedSlippage {
        address recipient;
        address buyToken;
        uint256 minAmountOut;
    }

    function execute(
        AllowedSlippage calldata slippage,
        bytes[] calldata actions,
        bytes32
    ) external payable returns (bool) {
        if (msg.sender != ALLOWANCE_HOLDER) revert NotAllowed();
        address payer = address(bytes20(msg.data[msg.data.length - 20:]));
        (address sellToken, uint256 amount, bytes memory route) = abi.decode(
            actions[0],
            (address, uint256, bytes)
        );
        uint256 before = sellToken.held();
        ZeroExAllowanceHolder(ALLOWANCE_HOLDER).transferFrom(sellToken, payer, address(this), amount);
        uint256 bought = _swap(route, sellToken.held() - before);
        _atLeast(bought, slippage.minAmountOut);
        slippage.buyToken.send(slippage.recipient, bought);
        return true;
    }
}
