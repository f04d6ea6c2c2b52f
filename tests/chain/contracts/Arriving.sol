// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface Transferable {
    function transfer(address to, uint256 value) external returns (bool);
}

/// Pays its caller from what it holds.
contract Shop {
    function buy(address token, uint256 value) external {
        require(Transferable(token).transfer(msg.sender, value));
    }
}

/// Balances are shares times an index, as of stETH or aTokens; a rebase changes all of them without
/// a log. A sale logs what its shares are worth at that time.
contract Rebasing {
    event Transfer(address indexed from, address indexed to, uint256 value);

    mapping(address => uint256) private shares;
    uint256 private growth;

    function balanceOf(address owner) public view returns (uint256) {
        return shares[owner] * index() / 1e18;
    }

    function index() public view returns (uint256) {
        return 1e18 + growth;
    }

    function rebase(uint256 more) external {
        growth += more;
    }

    function buy(uint256 value) external {
        uint256 sold = value * 1e18 / index();
        shares[msg.sender] += sold;
        emit Transfer(address(this), msg.sender, sold * index() / 1e18);
    }
}
