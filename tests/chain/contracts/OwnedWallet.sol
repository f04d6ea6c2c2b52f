// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A contract wallet that one owner commands, as a Safe with a threshold of one. Its owner is the
/// first caller of `setup`.
contract OwnedWallet {
    address private _owner;

    function setup() external {
        require(_owner == address(0));
        _owner = msg.sender;
    }

    function isOwner(address who) external view returns (bool) {
        return who == _owner;
    }

    function execute(address target, bytes calldata data) external {
        require(msg.sender == _owner);
        (bool succeeded, ) = target.call(data);
        require(succeeded);
    }
}
