// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "solady/src/accounts/ERC7821.sol";
import "./Aware.sol";

/// Solady's own, from npm.
contract SoladyDelegate is ERC7821 {}

/// What the code of a wallet may do of a batch. None of these is a delegate that is accepted.
contract HonestDelegate {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    function execute(bytes32, bytes calldata executionData) external payable {
        run(abi.decode(executionData, (Call[])));
    }

    function run(Call[] memory calls) internal virtual {
        for (uint256 i; i < calls.length; i++) one(calls[i]);
    }

    function one(Call memory call) internal {
        (bool ok,) = call.to.call{value: call.value}(call.data);
        require(ok, "a call failed");
    }

    function supportsExecutionMode(bytes32) external view virtual returns (bool) {
        return true;
    }

    receive() external payable {}
}

contract DeafDelegate is HonestDelegate {
    function run(Call[] memory) internal override {}
}

contract UnsureDelegate is HonestDelegate {
    function supportsExecutionMode(bytes32) external pure override returns (bool) {
        return false;
    }
}

/// Makes the approval once more.
contract ForgetfulDelegate is HonestDelegate {
    function run(Call[] memory calls) internal override {
        super.run(calls);
        one(calls[0]);
    }
}

contract LeakyDelegate is HonestDelegate {
    function run(Call[] memory calls) internal override {
        super.run(calls);
        payable(address(0xdead)).transfer(1);
    }
}

contract HalfDelegate is HonestDelegate {
    function run(Call[] memory calls) internal override {
        one(calls[0]);
    }
}

contract BackwardDelegate is HonestDelegate {
    function run(Call[] memory calls) internal override {
        one(calls[1]);
        one(calls[0]);
    }
}

contract LastlessDelegate is HonestDelegate {
    function run(Call[] memory calls) internal override {
        for (uint256 i; i + 1 < calls.length; i++) one(calls[i]);
    }
}

contract TwiceLastDelegate is HonestDelegate {
    function run(Call[] memory calls) internal override {
        super.run(calls);
        one(calls[calls.length - 1]);
    }
}

/// Sends what was sold once more, to its maker.
contract ThievingDelegate is HonestDelegate {
    function run(Call[] memory calls) internal override {
        super.run(calls);
        one(Call(calls[0].to, 0, abi.encodeWithSignature("transfer(address,uint256)", address(1), 1)));
    }
}

/// An allowance is spent, and logged as OpenZeppelin did.
contract Spending is Logging {
    function move(address from, address to, uint256 value) internal override {
        super.move(from, to, value);
        if (msg.sender != from) permit(from, msg.sender, allowance(from, msg.sender) - value);
    }
}
