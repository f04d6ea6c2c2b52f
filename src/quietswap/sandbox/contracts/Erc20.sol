// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Balances and allowances of a token in the slots its subclass names. Genesis writes the supply.
abstract contract Ledger {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    /// keccak256("quietswap.sandbox.supply"), far from every mapping
    bytes32 private constant SUPPLY = keccak256("quietswap.sandbox.supply");

    function name() external pure virtual returns (string memory);

    function symbol() external pure virtual returns (string memory);

    function decimals() external pure virtual returns (uint8);

    function _balanceSlot(address owner) internal pure virtual returns (bytes32);

    function _allowanceSlot(address owner, address spender) internal pure virtual returns (bytes32);

    function totalSupply() external view returns (uint256) {
        return _load(SUPPLY);
    }

    function balanceOf(address owner) public view returns (uint256) {
        return _load(_balanceSlot(owner));
    }

    function allowance(address owner, address spender) public view returns (uint256) {
        return _load(_allowanceSlot(owner, spender));
    }

    function _approve(address owner, address spender, uint256 value) internal {
        _store(_allowanceSlot(owner, spender), value);
        emit Approval(owner, spender, value);
    }

    function _spend(address owner, address spender, uint256 value) internal {
        uint256 allowed = allowance(owner, spender);
        require(allowed >= value, "ERC20: transfer amount exceeds allowance");
        if (allowed != type(uint256).max) _store(_allowanceSlot(owner, spender), allowed - value);
    }

    function _move(address from, address to, uint256 value) internal virtual {
        require(to != address(0), "ERC20: transfer to the zero address");
        _take(from, value);
        _store(_balanceSlot(to), balanceOf(to) + value);
        emit Transfer(from, to, value);
    }

    function _burn(address from, uint256 value) internal {
        _take(from, value);
        _store(SUPPLY, _load(SUPPLY) - value);
        emit Transfer(from, address(0), value);
    }

    /// The slot of an entry of a Solidity `mapping(address => ...)` declared at `slot`.
    function _mapped(address key, bytes32 slot) internal pure returns (bytes32) {
        return keccak256(abi.encode(key, slot));
    }

    function _take(address from, uint256 value) private {
        uint256 balance = balanceOf(from);
        require(balance >= value, "ERC20: transfer amount exceeds balance");
        _store(_balanceSlot(from), balance - value);
    }

    function _load(bytes32 slot) private view returns (uint256 value) {
        assembly ("memory-safe") {
            value := sload(slot)
        }
    }

    function _store(bytes32 slot, uint256 value) private {
        assembly ("memory-safe") {
            sstore(slot, value)
        }
    }
}

/// The standard's three functions; each returns true.
abstract contract Erc20 is Ledger {
    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        _spend(from, msg.sender, value);
        _move(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(msg.sender, spender, value);
        return true;
    }
}
