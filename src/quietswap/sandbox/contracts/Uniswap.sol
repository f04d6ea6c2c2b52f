// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The addresses of the pools of Uniswap's factories (EIP-1014).
library Uniswap {
    address internal constant V2_FACTORY = 0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f;
    address internal constant V3_FACTORY = 0x1F98431c8aD98523631AE4a59f267346ea31F984;
    bytes32 private constant V2_CODE = 0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f;
    bytes32 private constant V3_CODE = 0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54;
    uint160 internal constant LOWEST_PRICE = 4295128740;
    uint160 internal constant HIGHEST_PRICE = 1461446703485210103287273052203988822378723970341;

    function pair(address token0, address token1) internal pure returns (address) {
        return _at(V2_FACTORY, keccak256(abi.encodePacked(token0, token1)), V2_CODE);
    }

    function pool(address token0, address token1, uint256 fee) internal pure returns (address) {
        return _at(V3_FACTORY, keccak256(abi.encode(token0, token1, fee)), V3_CODE);
    }

    function priceLimit(bool forward) internal pure returns (uint160) {
        return forward ? LOWEST_PRICE : HIGHEST_PRICE;
    }

    function _at(address factory, bytes32 salt, bytes32 code) private pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", factory, salt, code)))));
    }
}
