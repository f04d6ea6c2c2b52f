// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Erc20, Ledger} from "./Erc20.sol";

/// USD Coin's slots: balances 9, allowances 10.
contract Usdc is Erc20 {
    function name() external pure override returns (string memory) {
        return "USD Coin";
    }

    function symbol() external pure override returns (string memory) {
        return "USDC";
    }

    function decimals() external pure override returns (uint8) {
        return 6;
    }

    function _balanceSlot(address owner) internal pure override returns (bytes32) {
        return _mapped(owner, bytes32(uint256(9)));
    }

    function _allowanceSlot(address owner, address spender) internal pure override returns (bytes32) {
        return _mapped(spender, _mapped(owner, bytes32(uint256(10))));
    }
}

/// Tether's slots (balances 2, allowances 5) and its two deviations: no return value, and an
/// allowance can only be changed to or from zero.
contract Usdt is Ledger {
    function name() external pure override returns (string memory) {
        return "Tether USD";
    }

    function symbol() external pure override returns (string memory) {
        return "USDT";
    }

    function decimals() external pure override returns (uint8) {
        return 6;
    }

    function transfer(address to, uint256 value) external {
        _move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        _spend(from, msg.sender, value);
        _move(from, to, value);
    }

    function approve(address spender, uint256 value) external {
        require(value == 0 || allowance(msg.sender, spender) == 0);
        _approve(msg.sender, spender, value);
    }

    function _balanceSlot(address owner) internal pure override returns (bytes32) {
        return _mapped(owner, bytes32(uint256(2)));
    }

    function _allowanceSlot(address owner, address spender) internal pure override returns (bytes32) {
        return _mapped(spender, _mapped(owner, bytes32(uint256(5))));
    }
}

/// Dai's slots: balances 2, allowances 3.
contract Dai is Erc20 {
    function name() external pure override returns (string memory) {
        return "Dai Stablecoin";
    }

    function symbol() external pure override returns (string memory) {
        return "DAI";
    }

    function decimals() external pure override returns (uint8) {
        return 18;
    }

    function _balanceSlot(address owner) internal pure override returns (bytes32) {
        return _mapped(owner, bytes32(uint256(2)));
    }

    function _allowanceSlot(address owner, address spender) internal pure override returns (bytes32) {
        return _mapped(spender, _mapped(owner, bytes32(uint256(3))));
    }
}

/// Wrapped BTC's slots: balances 0, allowances 2.
contract Wbtc is Erc20 {
    function name() external pure override returns (string memory) {
        return "Wrapped BTC";
    }

    function symbol() external pure override returns (string memory) {
        return "WBTC";
    }

    function decimals() external pure override returns (uint8) {
        return 8;
    }

    function _balanceSlot(address owner) internal pure override returns (bytes32) {
        return _mapped(owner, bytes32(uint256(0)));
    }

    function _allowanceSlot(address owner, address spender) internal pure override returns (bytes32) {
        return _mapped(spender, _mapped(owner, bytes32(uint256(2))));
    }
}

/// Burns 1 % of every transfer.
contract FeeToken is Erc20 {
    function name() external pure override returns (string memory) {
        return "Fee On Transfer";
    }

    function symbol() external pure override returns (string memory) {
        return "FEE";
    }

    function decimals() external pure override returns (uint8) {
        return 18;
    }

    function _move(address from, address to, uint256 value) internal override {
        uint256 fee = value / 100;
        _burn(from, fee);
        super._move(from, to, value - fee);
    }

    function _balanceSlot(address owner) internal pure override returns (bytes32) {
        return _mapped(owner, bytes32(uint256(0)));
    }

    function _allowanceSlot(address owner, address spender) internal pure override returns (bytes32) {
        return _mapped(spender, _mapped(owner, bytes32(uint256(1))));
    }
}

/// A token without worth that has a market: its owner prints it.
contract WorthlessToken is Erc20 {
    function name() external pure override returns (string memory) {
        return "Worthless";
    }

    function symbol() external pure override returns (string memory) {
        return "NIL";
    }

    function decimals() external pure override returns (uint8) {
        return 18;
    }

    function _balanceSlot(address owner) internal pure override returns (bytes32) {
        return _mapped(owner, bytes32(uint256(0)));
    }

    function _allowanceSlot(address owner, address spender) internal pure override returns (bytes32) {
        return _mapped(spender, _mapped(owner, bytes32(uint256(1))));
    }
}

/// Vyper's layout: the slot is hashed before the key. Balances 3, allowances 4, as CRV.
contract VyperToken is Erc20 {
    function name() external pure override returns (string memory) {
        return "Vyper Layout";
    }

    function symbol() external pure override returns (string memory) {
        return "VYP";
    }

    function decimals() external pure override returns (uint8) {
        return 18;
    }

    function _balanceSlot(address owner) internal pure override returns (bytes32) {
        return keccak256(abi.encode(uint256(3), owner));
    }

    function _allowanceSlot(address owner, address spender) internal pure override returns (bytes32) {
        return keccak256(abi.encode(keccak256(abi.encode(uint256(4), owner)), spender));
    }
}

/// Layout of Solady's ERC20: packed seeds, no declared slots.
contract SoladyToken is Erc20 {
    function name() external pure override returns (string memory) {
        return "Solady Layout";
    }

    function symbol() external pure override returns (string memory) {
        return "SLDY";
    }

    function decimals() external pure override returns (uint8) {
        return 18;
    }

    function _balanceSlot(address owner) internal pure override returns (bytes32) {
        return keccak256(abi.encodePacked(owner, uint64(0), uint32(0x87a211a2)));
    }

    function _allowanceSlot(address owner, address spender) internal pure override returns (bytes32) {
        return keccak256(abi.encodePacked(owner, uint64(0), uint32(0x7f5e9f20), spender));
    }
}
