// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IV2Pair, IV3Pool} from "./Pools.sol";
import {SafeToken} from "./SafeToken.sol";
import {Uniswap} from "./Uniswap.sol";

interface ICurvePool {
    function coins(uint256 index) external view returns (address);
}

interface IV3Facts {
    function token0() external view returns (address);

    function token1() external view returns (address);

    function fee() external view returns (uint24);
}

/// 1inch's direct swaps on pools. A pool's report is not checked: a fake pool passes any minimum.
/// A pool word has the protocol in the highest 3 bits (0 V2, 1 V3, 2 Curve), flags, the pool.
abstract contract OneInchUnoswap {
    using SafeToken for address;

    error ReturnAmountIsNotEnough(uint256 result, uint256 minReturn);
    error BadPool();
    error BadCurveSwapSelector();
    error UnknownProtocol();

    uint256 private constant PERMIT2 = 1 << 250;
    uint256 private constant FORWARD = 1 << 247;

    function unoswap(uint256 token, uint256 amount, uint256 minReturn, uint256 dex) external returns (uint256) {
        return _one(msg.sender, token, amount, minReturn, dex);
    }

    function unoswapTo(
        uint256 to,
        uint256 token,
        uint256 amount,
        uint256 minReturn,
        uint256 dex
    ) external returns (uint256) {
        return _one(address(uint160(to)), token, amount, minReturn, dex);
    }

    function unoswap2(
        uint256 token,
        uint256 amount,
        uint256 minReturn,
        uint256 dex,
        uint256 dex2
    ) external returns (uint256) {
        return _two(msg.sender, token, amount, minReturn, dex, dex2);
    }

    function unoswapTo2(
        uint256 to,
        uint256 token,
        uint256 amount,
        uint256 minReturn,
        uint256 dex,
        uint256 dex2
    ) external returns (uint256) {
        return _two(address(uint160(to)), token, amount, minReturn, dex, dex2);
    }

    function unoswap3(
        uint256 token,
        uint256 amount,
        uint256 minReturn,
        uint256 dex,
        uint256 dex2,
        uint256 dex3
    ) external returns (uint256) {
        return _three(msg.sender, token, amount, minReturn, dex, dex2, dex3);
    }

    function unoswapTo3(
        uint256 to,
        uint256 token,
        uint256 amount,
        uint256 minReturn,
        uint256 dex,
        uint256 dex2,
        uint256 dex3
    ) external returns (uint256) {
        return _three(address(uint160(to)), token, amount, minReturn, dex, dex2, dex3);
    }

    /// When this contract pays, any pool may call; when a wallet pays, only Uniswap's own.
    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external {
        address payer = address(uint160(uint256(bytes32(data[:32]))));
        bool permit2 = uint256(bytes32(data[32:64])) != 0;
        (address token, uint256 amount) = amount0 > 0
            ? (IV3Facts(msg.sender).token0(), uint256(amount0))
            : (IV3Facts(msg.sender).token1(), uint256(amount1));
        if (payer == address(this)) return token.send(msg.sender, amount);
        IV3Facts pool = IV3Facts(msg.sender);
        address genuine = Uniswap.pool(pool.token0(), pool.token1(), pool.fee());
        if (genuine != msg.sender) revert BadPool();
        token.moveUniversal(payer, msg.sender, amount, permit2);
    }

    /// Pays any caller from this contract's balance.
    function curveSwapCallback(address, address, address inCoin, uint256 dx, uint256) external {
        inCoin.send(msg.sender, dx);
    }

    function _bubble(address target, bytes memory data) internal returns (bytes memory answer) {
        bool ok;
        (ok, answer) = target.call{value: msg.value}(data);
        if (!ok) _revertWith(answer);
    }

    function _revertWith(bytes memory answer) internal pure {
        assembly ("memory-safe") {
            revert(add(answer, 32), mload(answer))
        }
    }

    function _one(
        address to,
        uint256 token,
        uint256 amount,
        uint256 minReturn,
        uint256 dex
    ) private returns (uint256) {
        return _unoswap(msg.sender, to, token, amount, minReturn, dex);
    }

    function _two(
        address to,
        uint256 token,
        uint256 amount,
        uint256 minReturn,
        uint256 dex,
        uint256 dex2
    ) private returns (uint256) {
        address second = _paidBefore(dex2);
        amount = _unoswap(msg.sender, second, token, amount, 0, dex);
        return _unoswap(second, to, 0, amount, minReturn, dex2);
    }

    function _three(
        address to,
        uint256 token,
        uint256 amount,
        uint256 minReturn,
        uint256 dex,
        uint256 dex2,
        uint256 dex3
    ) private returns (uint256) {
        (address second, address third) = (_paidBefore(dex2), _paidBefore(dex3));
        amount = _unoswap(msg.sender, second, token, amount, 0, dex);
        amount = _unoswap(second, third, 0, amount, 0, dex2);
        return _unoswap(third, to, 0, amount, minReturn, dex3);
    }

    /// A V2 pair is paid by the pool before it, any other pool by this contract.
    function _paidBefore(uint256 dex) private view returns (address) {
        return dex >> 253 == 0 ? address(uint160(dex)) : address(this);
    }

    function _unoswap(
        address payer,
        address to,
        uint256 token,
        uint256 amount,
        uint256 minReturn,
        uint256 dex
    ) private returns (uint256) {
        uint256 protocol = dex >> 253;
        address from = address(uint160(token));
        bool permit2 = dex & PERMIT2 != 0;
        if (protocol == 0) {
            address pool = address(uint160(dex));
            if (payer == msg.sender) from.moveUniversal(payer, pool, amount, permit2);
            return _v2(to, amount, minReturn, dex);
        }
        if (protocol == 1) return _v3(payer, to, amount, minReturn, dex);
        if (protocol != 2) revert UnknownProtocol();
        if (payer == msg.sender) from.moveUniversal(payer, address(this), amount, permit2);
        return _curve(to, amount, minReturn, dex);
    }

    function _v2(address to, uint256 amount, uint256 minReturn, uint256 dex) private returns (uint256 out) {
        IV2Pair pool = IV2Pair(address(uint160(dex)));
        bool forward = dex & FORWARD != 0;
        uint256 numerator = uint32(dex >> 160);
        if (numerator == 0) numerator = 997_000_000;
        (uint256 reserveIn, uint256 reserveOut, ) = pool.getReserves();
        if (!forward) (reserveIn, reserveOut) = (reserveOut, reserveIn);
        unchecked {
            out = amount * numerator;
            out = (out * reserveOut) / (out + reserveIn * 1_000_000_000);
        }
        if (out < minReturn) revert ReturnAmountIsNotEnough(out, minReturn);
        pool.swap(forward ? 0 : out, forward ? out : 0, to, "");
    }

    /// Pulls the pool's token, which may differ from the token word.
    function _v3(
        address payer,
        address to,
        uint256 amount,
        uint256 minReturn,
        uint256 dex
    ) private returns (uint256 out) {
        bool forward = dex & FORWARD != 0;
        (int256 amount0, int256 amount1) = IV3Pool(address(uint160(dex))).swap(
            to,
            forward,
            int256(amount),
            Uniswap.priceLimit(forward),
            abi.encode(payer, dex & PERMIT2 != 0)
        );
        unchecked {
            out = uint256(-(forward ? amount1 : amount0));
        }
        if (out < minReturn) revert ReturnAmountIsNotEnough(out, minReturn);
    }

    /// Of the original's tables only `coins(uint256)` and `exchange(int128,int128,uint256,uint256)`.
    function _curve(address to, uint256 amount, uint256 minReturn, uint256 dex) private returns (uint256 out) {
        address pool = address(uint160(dex));
        if (uint8(dex >> 184) != 0) revert BadCurveSwapSelector();
        address bought = ICurvePool(pool).coins(uint8(dex >> 216));
        ICurvePool(pool).coins(uint8(dex >> 200)).approve(pool, amount);
        bytes memory answer = _bubble(
            pool,
            abi.encodeWithSignature(
                "exchange(int128,int128,uint256,uint256)",
                uint256(uint8(dex >> 224)),
                uint256(uint8(dex >> 232)),
                amount,
                minReturn
            )
        );
        out = answer.length == 0 ? bought.held() - 1 : abi.decode(answer, (uint256));
        if (to != address(this)) bought.send(to, out);
        if (out < minReturn) revert ReturnAmountIsNotEnough(out, minReturn);
    }
}
