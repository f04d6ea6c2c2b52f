// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IERC20 {
    function balanceOf(address owner) external view returns (uint256);
}

/// Moves tokens that return true, as the standard requires, or nothing, as USDT does.
library SafeToken {
    error TransferFailed(address token);
    error PermitFailed();

    address private constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;

    function send(address token, address to, uint256 amount) internal {
        _require(token, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
    }

    function move(address token, address from, address to, uint256 amount) internal {
        _require(
            token,
            abi.encodeWithSignature("transferFrom(address,address,uint256)", from, to, amount)
        );
    }

    function approve(address token, address spender, uint256 amount) internal {
        _require(token, abi.encodeWithSignature("approve(address,uint256)", spender, amount));
    }

    /// `move`, or through Permit2's allowance. The sandbox has no Permit2: such a call reverts
    /// here, while mainnet's takes what the wallet once granted.
    function moveUniversal(address token, address from, address to, uint256 amount, bool permit2) internal {
        if (!permit2) return move(token, from, to, amount);
        _require(
            PERMIT2,
            abi.encodeWithSignature(
                "transferFrom(address,address,uint160,address)", from, to, uint160(amount), token
            )
        );
    }

    /// Runs the token's own permit with these arguments: 224 bytes EIP-2612, 256 Dai's. Any
    /// successful answer counts, so that WETH's fallback passes.
    function permit(address token, bytes calldata arguments) internal {
        bytes4 selector = arguments.length == 256 ? bytes4(0x8fcbaf0c) : bytes4(0xd505accf);
        (bool ok, ) = token.call(bytes.concat(selector, arguments));
        if (!ok) revert PermitFailed();
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
