"""Balances and transactions of any account on the local chain, without its key."""

from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.abi import set_storage
from quietswap.sandbox.contracts.pools import SUPPLY_KEY, WETH, SandboxToken

MAX_FEE_PER_GAS = 10**11


async def send(
    chain: LocalChain,
    sender: str,
    to: str,
    data: bytes = b"",
    *,
    value: int = 0,
    priority_fee: int = 0,
    gas: int | None = None,
) -> str:
    """Send a transaction of any account to the mempool and return its hash.

    Without `gas` the limit is 125 % of the node's estimate. The estimate raises RpcError when the
    transaction would revert.
    """
    await chain.rpc.call("anvil_impersonateAccount", sender)
    transaction = {"from": sender, "to": to, "data": "0x" + data.hex(), "value": hex(value)}
    transaction |= {"maxFeePerGas": hex(MAX_FEE_PER_GAS)}
    transaction |= {"maxPriorityFeePerGas": hex(priority_fee)}
    if gas is None:
        gas = await chain.rpc.number("eth_estimateGas", transaction) * 5 // 4
    tx_hash: str = await chain.rpc.call("eth_sendTransaction", transaction | {"gas": hex(gas)})
    return tx_hash


async def eth_balance(chain: LocalChain, owner: str) -> int:
    return await chain.rpc.number("eth_getBalance", owner, "latest")


async def give_eth(chain: LocalChain, owner: str, amount: int) -> None:
    await chain.rpc.call("anvil_setBalance", owner, hex(amount))


async def give(chain: LocalChain, token: SandboxToken, owner: str, amount: int) -> None:
    """Set a token balance in smallest units, without a transaction or an event.

    The total supply changes by the same amount; for WETH that is the contract's ETH.
    """
    change = amount - await chain.token_balance(token.address, owner)
    await chain.rpc.batch([set_storage(token.address, token.balance_key(owner), amount)])
    if token is WETH:
        await give_eth(chain, WETH.address, await eth_balance(chain, WETH.address) + change)
        return
    supply = abi.word(await chain.call(token.address, abi.call("totalSupply()")), 0)
    await chain.rpc.batch([set_storage(token.address, SUPPLY_KEY, supply + change)])
