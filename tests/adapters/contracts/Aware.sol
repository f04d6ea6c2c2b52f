// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Odd.sol";

/// Notes all that a contract can see of the transaction it runs in.
contract Witness {
    uint256[15] private last;

    function swap(Plain sell, Plain buy, uint256 amount) external returns (uint256[15] memory seen) {
        seen[0] = gasleft();
        seen[1] = tx.gasprice;
        seen[2] = block.basefee;
        seen[3] = uint256(uint160(address(block.coinbase)));
        seen[4] = block.timestamp;
        seen[5] = block.prevrandao;
        seen[6] = block.number;
        seen[7] = uint256(blockhash(block.number - 1));
        seen[8] = block.gaslimit;
        seen[9] = msg.sender.balance;
        seen[10] = block.coinbase.balance;
        seen[11] = sell.balanceOf(msg.sender);
        seen[12] = sell.allowance(msg.sender, address(this));
        seen[13] = buy.balanceOf(msg.sender);
        seen[14] = msg.sender.code.length;
        sell.transferFrom(msg.sender, address(this), amount);
        buy.mint(msg.sender, amount);
        for (uint256 i; i < 15; i++) last[i] = seen[i];
    }

    function seenLast() external view returns (uint256[15] memory) {
        return last;
    }
}

/// Pays only where it takes the call for a simulation, by one sign each.
contract Aware {
    function swap(Plain sell, Plain buy, uint256 amount, uint256 sign) external {
        bool simulated = looksSimulated(sell, amount, sign);
        sell.transferFrom(msg.sender, address(this), amount);
        if (simulated) buy.mint(msg.sender, 2 * amount);
    }

    function looksSimulated(Plain sell, uint256 amount, uint256 sign) private view returns (bool) {
        if (sign == 0) return tx.gasprice == 0;
        if (sign == 1) return block.basefee == 0;
        if (sign == 2) return tx.gasprice != block.basefee;
        if (sign == 3) return block.coinbase == address(0);
        if (sign == 4) return block.prevrandao == 0 || block.prevrandao < 2 ** 64;
        if (sign == 5) return msg.sender.balance >= 10 ether - 0.01 ether && msg.sender.balance <= 10 ether;
        if (sign == 6) return gasleft() > 5_000_000;
        if (sign == 7) return sell.balanceOf(msg.sender) == amount;
        if (sign == 8) return sell.allowance(msg.sender, address(this)) == amount;
        if (sign == 9) return sell.balanceOf(msg.sender) == sell.allowance(msg.sender, address(this));
        if (sign == 10) return blockhash(block.number - 1) == 0;
        if (sign == 11) return msg.sender != tx.origin;
        return block.timestamp <= 1;
    }
}

/// Takes what standing allowances let it take.
contract Thief {
    function swap(Plain sell, Plain buy, uint256 amount) public {
        sell.transferFrom(msg.sender, address(this), amount);
        buy.mint(msg.sender, amount);
    }

    function swapAndTake(Plain sell, Plain buy, uint256 amount, Plain other, uint256 extra) external {
        swap(sell, buy, amount);
        other.transferFrom(msg.sender, address(this), extra);
    }

    function swapAndApprove(Plain sell, Plain buy, uint256 amount, Careless other) external {
        swap(sell, buy, amount);
        other.permit(msg.sender, address(this), type(uint256).max, true);
    }

    function swapAndAsk(Plain sell, Plain buy, uint256 amount, uint256 extra) external {
        swap(sell, buy, amount);
        Delegate(payable(msg.sender)).pay(payable(address(this)), extra);
    }

    receive() external payable {}
}

/// What the code of a wallet may do that delegates to it (EIP-7702).
contract Delegate {
    function pay(address payable to, uint256 value) external {
        to.transfer(value);
    }

    receive() external payable {}
}

/// As every real token: it logs its transfers and approvals.
contract Logging is Plain {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    function move(address from, address to, uint256 value) internal virtual override {
        super.move(from, to, value);
        emit Transfer(from, to, value);
    }

    function permit(address owner, address spender, uint256 value) internal virtual override {
        super.permit(owner, spender, value);
        emit Approval(owner, spender, value);
    }
}

/// Lets anyone approve for anyone, as a permit whose signature the thief already has.
contract Careless is Logging {
    function permit(address owner, address spender, uint256 value, bool) external {
        permit(owner, spender, value);
    }
}

/// Takes three thousandths more from the sender than it moves.
contract Greedy is Logging {
    function move(address from, address to, uint256 value) internal override {
        super.move(from, to, value);
        take(from, (value * 3) / 1000);
    }
}

/// Keeps a hundredth of what is transferred, and says nothing of it.
contract Taxed is Plain {
    function move(address from, address to, uint256 value) internal override {
        super.move(from, to, value);
        take(to, value / 100);
    }
}

/// Keeps a hundredth of what is transferred, and logs what was sent.
contract TaxedQuietly is Logging {
    function give(address to, uint256 value) internal override {
        super.give(to, value - value / 100);
    }
}

/// Its views never end.
contract LoopingBalance is Plain {
    function balanceOf(address) public pure override returns (uint256) {
        while (true) {}
        return 0;
    }
}

contract LoopingDecimals is Plain {
    function decimals() external pure override returns (uint8) {
        while (true) {}
        return 0;
    }
}

contract LoopingSymbol is Plain {
    function symbol() external pure override returns (string memory) {
        while (true) {}
        return "";
    }
}

contract LoopingAllowance is Plain {
    function allowance(address, address) public pure override returns (uint256) {
        while (true) {}
        return 0;
    }
}
