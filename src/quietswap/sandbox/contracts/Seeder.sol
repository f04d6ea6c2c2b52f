// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";

interface IFactory {
    function createPair(address tokenA, address tokenB) external returns (address pair);

    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address pool);
}

interface IPool {
    function mint(address to) external returns (uint256 liquidity);

    function initialize(uint160 sqrtPriceX96) external;

    function mint(
        address recipient,
        int24 tickLower,
        int24 tickUpper,
        uint128 amount,
        bytes calldata data
    ) external returns (uint256 amount0, uint256 amount1);
}

/// Opens the pools at genesis with tokens from genesis, and owns their liquidity permanently.
contract Seeder {
    using SafeToken for address;

    function openV2(address factory, address a, address b, uint256 amountA, uint256 amountB) external {
        address pair = IFactory(factory).createPair(a, b);
        a.send(pair, amountA);
        b.send(pair, amountB);
        IPool(pair).mint(address(this));
    }

    function openV3(
        address factory,
        address token0,
        address token1,
        uint24 fee,
        uint160 sqrtPriceX96,
        int24 tickLower,
        int24 tickUpper,
        uint128 liquidity
    ) external {
        address pool = IFactory(factory).createPool(token0, token1, fee);
        IPool(pool).initialize(sqrtPriceX96);
        IPool(pool).mint(address(this), tickLower, tickUpper, liquidity, abi.encode(token0, token1));
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata data) external {
        (address token0, address token1) = abi.decode(data, (address, address));
        token0.send(msg.sender, amount0);
        token1.send(msg.sender, amount1);
    }
}
