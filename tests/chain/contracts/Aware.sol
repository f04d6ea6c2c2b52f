// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Odd.sol";

/// Returns what it sees of the transaction and the wallet.
contract Witness {
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
    }
}

/// An executor that reads all that a contract can read, and may pay only by what it reads.
contract Onlooker {
    address private constant BEACON_ROOTS = 0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02;
    address private constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;
    uint256 private constant WORDS = 42;

    /// `how`: 0 equals, 1 differs, 2 below, 3 above, 4 has bit, 5 multiple of; 6 and 7 compare with
    /// word `than`: equals, below.
    struct Sign {
        uint8 word;
        uint8 how;
        uint256 than;
    }

    event Seen(uint256[] words);

    function look(Plain sell, Plain buy, address wallet, uint256 amount) external {
        uint256[] memory words = new uint256[](WORDS);
        for (uint256 i; i < WORDS; i++) words[i] = word(i, sell, buy);
        emit Seen(words);
        buy.mint(wallet, amount);
    }

    /// `join`: 0 all signs, 1 any, 2 an odd number of them.
    function bet(Plain sell, Plain buy, address wallet, uint256 amount, Sign[] calldata signs, uint8 join) external {
        uint256 count;
        for (uint256 i; i < signs.length; i++) if (holds(signs[i], sell, buy)) count++;
        bool pays = join == 0 ? count == signs.length : join == 1 ? count > 0 : count % 2 == 1;
        if (pays) buy.mint(wallet, amount);
    }

    function holds(Sign calldata sign, Plain sell, Plain buy) private view returns (bool) {
        uint256 seen = word(sign.word, sell, buy);
        uint256 than = sign.how < 6 ? sign.than : word(sign.than, sell, buy);
        if (sign.how == 0 || sign.how == 6) return seen == than;
        if (sign.how == 1) return seen != than;
        if (sign.how == 2 || sign.how == 7) return seen < than;
        if (sign.how == 3) return seen > than;
        if (sign.how == 4) return (seen >> than) & 1 == 1;
        return seen % than == 0;
    }

    /// The prices of first accesses come first: reading makes warm.
    function word(uint256 i, Plain sell, Plain buy) private view returns (uint256) {
        if (i < 12) return price(i, sell);
        if (i < 26) return ofBlock(i);
        if (i < 36) return ofAccounts(i);
        if (i == 36) return sell.balanceOf(tx.origin);
        if (i == 37) return sell.allowance(tx.origin, msg.sender);
        if (i == 38) return buy.balanceOf(tx.origin);
        if (i == 39) return sell.balanceOf(address(this));
        if (i == 40) return msg.data.length;
        return gasleft();
    }

    function price(uint256 i, Plain sell) private view returns (uint256 cost) {
        address[11] memory holders = [
            block.coinbase,
            tx.origin,
            msg.sender,
            address(sell),
            address(0x57a),
            address(0x57a),
            BEACON_ROOTS,
            HISTORY,
            address(1),
            address(0),
            address(this)
        ];
        if (i < 11) {
            address at = holders[i];
            assembly ("memory-safe") {
                let before := gas()
                let held := balance(at)
                cost := add(sub(before, gas()), eq(held, not(0)))
            }
            return cost;
        }
        assembly ("memory-safe") {
            let before := gas()
            let found := sload(0x57a)
            cost := add(sub(before, gas()), eq(found, not(0)))
        }
    }

    function ofBlock(uint256 i) private view returns (uint256) {
        if (i == 12) return tx.gasprice;
        if (i == 13) return block.basefee;
        if (i == 14) return uint256(uint160(address(block.coinbase)));
        if (i == 15) return block.number;
        if (i == 16) return block.timestamp;
        if (i == 17) return block.prevrandao;
        if (i == 18) return block.gaslimit;
        if (i == 19) return uint256(blockhash(block.number - 1));
        if (i == 20) return uint256(blockhash(block.number - 2));
        if (i == 21) return uint256(blockhash(block.number));
        if (i == 22) return block.blobbasefee;
        if (i == 23) return uint256(blobhash(0));
        if (i == 24) return block.chainid;
        return stored(BEACON_ROOTS, block.timestamp);
    }

    function ofAccounts(uint256 i) private view returns (uint256) {
        if (i == 26) return stored(HISTORY, block.number - 1);
        if (i == 27) return stored(HISTORY, block.number - 2);
        if (i == 28) return uint256(uint160(tx.origin));
        if (i == 29) return uint256(uint160(msg.sender));
        if (i == 30) return tx.origin.balance;
        if (i == 31) return block.coinbase.balance;
        if (i == 32) return address(this).balance;
        if (i == 33) return tx.origin.code.length;
        if (i == 34) return uint256(tx.origin.codehash);
        return uint256(BEACON_ROOTS.codehash) ^ uint256(HISTORY.codehash);
    }

    /// 1 where the system contract has nothing.
    function stored(address at, uint256 key) private view returns (uint256) {
        (bool ok, bytes memory found) = at.staticcall(abi.encode(key));
        return ok && found.length == 32 ? uint256(bytes32(found)) : 1;
    }
}

/// Takes what standing allowances let it take.
contract Thief {
    function swap(Plain sell, Plain buy, uint256 amount) public {
        sell.transferFrom(msg.sender, address(this), amount);
        buy.mint(msg.sender, amount);
    }

    /// As `swap`, for a token that it holds and cannot make.
    function swapFor(Plain sell, Plain buy, uint256 amount) external {
        sell.transferFrom(msg.sender, address(this), amount);
        buy.transfer(msg.sender, amount);
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
