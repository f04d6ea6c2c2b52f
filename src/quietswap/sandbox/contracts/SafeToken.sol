// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IERC20 {
    function balanceOf(address owner) external view returns (uint256);
}

/// Moves tokens whether they return true, as the standard says, or nothing, as USDT does.
library SafeToken {
    error TransferFailed(address token);

    function send(address token, address to, uint256 amount) internal {
        _require(token, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
    }

    /// Returns what arrived, which is less than `amount` for a token that takes a fee.
    function pull(address token, address from, uint256 amount) internal returns (uint256) {
        uint256 before = held(token);
        move(token, from, address(this), amount);
        return held(token) - before;
    }

    function move(address token, address from, address to, uint256 amount) internal {
        _require(
            token,
            abi.encodeWithSignature("transferFrom(address,address,uint256)", from, to, amount)
        );
    }

    function held(address token) internal view returns (uint256) {
        return IERC20(token).balanceOf(address(this));
    }

    function _require(address token, bytes memory data) private {
        (bool ok, bytes memory answer) = token.call(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        bool refused = answer.length != 0 && !abi.decode(answer, (bool));
        if (refused || token.code.length == 0) revert TransferFailed(token);
    }
}
