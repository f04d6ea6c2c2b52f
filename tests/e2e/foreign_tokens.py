"""Tokens of strangers on the sandbox's chain, with real pools of Uniswap."""

from dataclasses import replace
from decimal import Decimal

from quietswap.rules.tx.address import from_any_case
from quietswap.sandbox.contracts import abi, addresses, artifacts, pools
from quietswap.sandbox.contracts.abi import TREASURY
from quietswap.sandbox.contracts.pools import WETH, SandboxToken
from tests.spec.api_client import ApiClient

HELD = Decimal(10_000_000)
"""USD of each token that whoever opens the pools holds."""
HONEST = "0x70ce000000000000000000000000000000000001"
"""The code to which a burning token delegates all that it does not burn."""


def token(at: str, usd: int) -> SandboxToken:
    return replace(pools.WORTHLESS, symbol="STR", address=from_any_case(at), usd=Decimal(usd))


def deploy(desk: ApiClient, new: SandboxToken) -> None:
    """Put a token on the chain. Whoever opens its pools holds enough of it, and of the others."""
    desk.rpc("anvil_setCode", new.address, artifacts.own_runtime("WorthlessToken"))
    for each in (new, *pools.TOKENS.values()):
        key = each.balance_key(addresses.SEEDER)
        amount = each.units(HELD / each.usd)
        desk.rpc("anvil_setStorageAt", each.address, key, f"0x{amount:064x}")
    backing = hex(10 * WETH.units(HELD / WETH.usd))
    desk.rpc("anvil_setBalance", WETH.address, backing)


def open_pool(
    desk: ApiClient,
    new: SandboxToken,
    other: SandboxToken,
    depth_usd: int,
    fee: int = 0,
    *,
    ticks: int = pools.V3_RANGE_TICKS,
) -> None:
    """Open a pool of V2, or of V3 with liquidity `ticks` around the price of the tokens."""
    first, second = sorted((new, other), key=lambda each: int(each.address, 16))
    pool = pools.Pool(first, second, Decimal(depth_usd), bool(fee), fee or 3000)
    pair = first.address, second.address
    if fee:
        sqrt_price, tick, liquidity = pools.v3_opening(pool)
        data = abi.call(
            "openV3(address,address,address,uint24,uint160,int24,int24,uint128)",
            *(addresses.V3_FACTORY, *pair, fee, sqrt_price, tick - ticks, tick + ticks, liquidity),
        )
    else:
        values = addresses.V2_FACTORY, *pair, *pool.amounts
        data = abi.call("openV2(address,address,address,uint256,uint256)", *values)
    ask = {"from": TREASURY.address, "to": addresses.SEEDER, "data": "0x" + data.hex()}
    sent = desk.rpc("eth_sendTransaction", ask | {"gas": hex(9_000_000)})
    desk.until(lambda: desk.rpc("eth_getTransactionReceipt", sent))
    assert desk.rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"


def burn_in_transfer(desk: ApiClient, of: SandboxToken) -> None:
    """Let `transfer` of a token use up all gas that it gets, from now on."""
    desk.rpc("anvil_setCode", HONEST, artifacts.own_runtime("WorthlessToken"))
    to_loop = "5f3560e01c63a9059cbb14603b57"  # if the selector is that of transfer
    delegated = f"365f5f375f5f365f73{HONEST[2:]}5af4"
    returned = "3d5f5f3e6037573d5ffd5b3d5ff3"
    code = to_loop + delegated + returned + "5b603b56"
    desk.rpc("anvil_setCode", of.address, "0x" + code)
