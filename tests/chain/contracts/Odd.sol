// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A plain token; subclasses are odd in one way each. Balances 0, allowances 1.
abstract contract Plain {
    mapping(address => uint256) internal balances;
    mapping(address => mapping(address => uint256)) internal allowances;

    function decimals() external pure virtual returns (uint8) {
        return 18;
    }

    function symbol() external pure virtual returns (string memory) {
        return "ODD";
    }

    function balanceOf(address owner) public view virtual returns (uint256) {
        return balances[owner];
    }

    function allowance(address owner, address spender) public view virtual returns (uint256) {
        return allowances[owner][spender];
    }

    function approve(address spender, uint256 value) external returns (bool) {
        permit(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(allowance(from, msg.sender) >= value, "not approved");
        move(from, to, value);
        return true;
    }

    function mint(address to, uint256 value) external {
        give(to, value);
    }

    function permit(address owner, address spender, uint256 value) internal virtual {
        allowances[owner][spender] = value;
    }

    function move(address from, address to, uint256 value) internal virtual {
        require(balanceOf(from) >= value, "balance too low");
        take(from, value);
        give(to, value);
    }

    function give(address to, uint256 value) internal virtual {
        balances[to] += value;
    }

    function take(address from, uint256 value) internal virtual {
        balances[from] -= value;
    }
}

contract Ordinary is Plain {}

/// What venues pay in.
contract Bought is Plain {}

/// As USDC: the top bit of a balance says that the owner is blocked.
contract Flagged is Plain {
    uint256 private constant BLOCKED = 1 << 255;

    function balanceOf(address owner) public view override returns (uint256) {
        return balances[owner] & ~BLOCKED;
    }

    function blockOwner(address owner) external {
        balances[owner] |= BLOCKED;
    }

    function move(address from, address to, uint256 value) internal override {
        require(balances[from] & BLOCKED == 0, "account is blocked");
        super.move(from, to, value);
    }
}

/// As stETH: shares are stored, and a balance is computed from them.
contract Shares is Plain {
    function balanceOf(address owner) public view override returns (uint256) {
        return (balances[owner] * 11) / 10;
    }

    function take(address from, uint256 value) internal override {
        balances[from] -= (value * 10) / 11;
    }

    function give(address to, uint256 value) internal override {
        balances[to] += (value * 10) / 11;
    }
}

/// As reflection tokens: a balance is stored plainly only for owners who are marked, and the mark is
/// itself a mapping the probe writes to.
contract Reflecting is Plain {
    mapping(address => uint256) private marked;

    function balanceOf(address owner) public view override returns (uint256) {
        return marked[owner] != 0 ? balances[owner] : balances[owner] / 2;
    }
}

/// Keeps its numbers in a mapping of a mapping of structs, which no list of layouts foresees.
contract Hidden is Plain {
    mapping(uint256 => mapping(address => uint256)) private ledgers;

    function balanceOf(address owner) public view override returns (uint256) {
        return ledgers[7][owner];
    }

    function allowance(address, address) public pure override returns (uint256) {
        return type(uint256).max;
    }

    function give(address to, uint256 value) internal override {
        ledgers[7][to] += value;
    }

    function take(address from, uint256 value) internal override {
        ledgers[7][from] -= value;
    }
}

/// OpenZeppelin 5's upgradeable layout (EIP-7201, openzeppelin.storage.ERC20).
contract Namespaced is Plain {
    struct Storage {
        mapping(address => uint256) balances;
        mapping(address => mapping(address => uint256)) allowances;
    }

    function root() private pure returns (Storage storage s) {
        assembly {
            s.slot := 0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00
        }
    }

    function balanceOf(address owner) public view override returns (uint256) {
        return root().balances[owner];
    }

    function allowance(address owner, address spender) public view override returns (uint256) {
        return root().allowances[owner][spender];
    }

    function permit(address owner, address spender, uint256 value) internal override {
        root().allowances[owner][spender] = value;
    }

    function give(address to, uint256 value) internal override {
        root().balances[to] += value;
    }

    function take(address from, uint256 value) internal override {
        root().balances[from] -= value;
    }
}

/// As MKR: the symbol is 32 bytes, not a string.
contract Bytes32Symbol {
    bytes32 public constant symbol = "MKR";
    uint8 public constant decimals = 18;
    mapping(address => uint256) public balanceOf;
}

/// A stranger's idea of a symbol.
contract RudeSymbol is Plain {
    function symbol() external pure override returns (string memory) {
        return unicode"\u202eEV1L<script>\n\u0000and much more than thirty-two characters";
    }
}

contract NoSymbol {
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;
}

contract ManyDecimals {
    uint256 public constant decimals = 256;
    mapping(address => uint256) public balanceOf;
}

/// Pays out `rate` / 1000 of what it takes, in the other token, and has moods.
contract Venue {
    error Closed(uint256 since);

    uint256 public swaps;

    function swap(Plain sell, Plain buy, uint256 amount, uint256 rate) external {
        sell.transferFrom(msg.sender, address(this), amount);
        buy.mint(msg.sender, (amount * rate) / 1000);
    }

    /// Burns all its gas if it has less than `least`, and otherwise uses little of it.
    function swapWithMuchGas(Plain sell, Plain buy, uint256 amount, uint256 least) external {
        if (gasleft() < least) {
            assembly {
                invalid()
            }
        }
        sell.transferFrom(msg.sender, address(this), amount);
        buy.mint(msg.sender, amount);
    }

    /// Pays as much as it takes, out of what it holds.
    function swapFromStock(Plain sell, Plain buy, uint256 amount) external {
        sell.transferFrom(msg.sender, address(this), amount);
        buy.transfer(msg.sender, amount);
    }

    /// Pays 1000 for the first swap ever and nothing for a later one.
    function swapOnce(Plain sell, Plain buy, uint256 amount) external {
        sell.transferFrom(msg.sender, address(this), amount);
        if (swaps++ == 0) buy.mint(msg.sender, 1000);
    }

    function refuse() external pure {
        revert("Venue: \u001b[31mINSUFFICIENT_OUTPUT_AMOUNT, and on and on it goes until somebody cuts the text that nobody wants to read to its very end");
    }

    function refuseWithCode() external pure {
        revert Closed(1);
    }

    function panic(uint256 zero) external pure returns (uint256) {
        return 1 / zero;
    }

    function spin() external pure {
        while (true) {}
    }

    function takeEther() external payable {}
}

/// Tells a receiver of a transfer, as ERC-777 does.
contract Telling is Plain {
    function move(address from, address to, uint256 value) internal override {
        super.move(from, to, value);
        if (to.code.length > 0) HookThief(to).tokensReceived();
    }
}

/// Owes something, and pays it whoever asks for it.
contract Debtor {
    Plain public token;
    address public creditor;

    function owe(Plain token_, address creditor_) external {
        (token, creditor) = (token_, creditor_);
    }

    function payOut() external {
        token.transfer(creditor, token.balanceOf(address(this)));
    }
}

/// An executor that pays for the swap, and has the debtor pay in the middle of a transfer.
contract HookThief {
    Debtor private debtor;
    Plain private bought;
    address private wallet;
    uint256 private price;

    function learn(Debtor debtor_, Plain bought_, address wallet_, uint256 price_) external {
        (debtor, bought, wallet, price) = (debtor_, bought_, wallet_, price_);
    }

    function tokensReceived() external {
        debtor.payOut();
    }

    function callBytes(bytes calldata) external payable {
        bought.mint(wallet, price);
    }

    function swapSingleSequence(bytes calldata) external {}

    function finalTransactionProcessing(address, address, address, bytes calldata) external {
        bought.mint(wallet, price);
    }
}

/// Takes a fifth of what a contract sends; people pay nothing.
contract TaxedByCode is Plain {
    function move(address from, address to, uint256 value) internal override {
        take(from, value);
        give(to, from.code.length > 0 ? value - value / 5 : value);
    }
}

/// Takes a fifth of what is not sent by the transaction's own account.
contract TaxedByOrigin is Plain {
    function move(address from, address to, uint256 value) internal override {
        take(from, value);
        give(to, msg.sender != tx.origin ? value - value / 5 : value);
    }
}

/// Every view answers a number and half a megabyte behind it.
contract Verbose {
    uint256 private constant SIZE = 500_000;

    function decimals() external pure returns (uint8) {
        return 18;
    }

    function symbol() external pure returns (string memory) {
        return "ODD";
    }

    function balanceOf(address) external pure {
        lengthy();
    }

    function allowance(address, address) external pure {
        lengthy();
    }

    function lengthy() private pure {
        assembly {
            mstore(0, 1000000000)
            return(0, SIZE)
        }
    }
}
