// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The answers of a Chainlink price feed. The sandbox writes the three slots directly.
contract Feed {
    int256 private answer;
    /// Unix seconds; 0 stands for the time of the block in which the feed is read
    uint256 private updatedAt;
    uint80 private round;
    string public description;

    uint8 public constant decimals = 8;
    uint256 public constant version = 4;

    function latestAnswer() external view returns (int256) {
        return answer;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        uint256 time = updatedAt == 0 ? block.timestamp : updatedAt;
        return (round, answer, time, time, round);
    }
}
