"""The operator's node(s) as the service's view of the chain."""

from collections.abc import Mapping, Sequence

from quietswap.adapters import chain_tokens, chain_wire, erc20, multicall
from quietswap.adapters.chain_wire import BlockWire, HeaderWire, Malformed
from quietswap.adapters.in_flight import InFlight
from quietswap.adapters.jsonrpc import JsonRpc
from quietswap.adapters.multicall import View
from quietswap.adapters.pretend import Holdings
from quietswap.adapters.rpc_wire import Call, Result, RpcError, value, value_or_none
from quietswap.adapters.simulate import Simulator
from quietswap.domain.address import Address
from quietswap.domain.route import SwapRequest
from quietswap.domain.token import Token
from quietswap.domain.transaction import TransactionParams
from quietswap.ports.outside import (
    Block,
    ChainDown,
    Clock,
    Head,
    Receipt,
    Rehearsal,
    Sender,
    WalletFacts,
)


class NodeChain:
    """Implements quietswap.ports.outside.Chain over JSON-RPC.

    `head_ttl_s`: how long a head is served from memory; `batch_size`: most calls in one batch
    (hosted nodes refuse more than 100 to 1000).
    """

    def __init__(
        self,
        rpc: JsonRpc,
        clock: Clock,
        *,
        head_ttl_s: float = 0.9,
        batch_size: int = 100,
        unknown_token_s: float = 60.0,
    ) -> None:
        self._rpc = rpc
        self._clock = clock
        self._head_ttl_s = head_ttl_s
        self._batch_size = batch_size
        self._simulator = Simulator(rpc, clock)
        self._tokens = chain_tokens.TokenMemory(clock, unknown_for_s=unknown_token_s)
        self._head: tuple[Head, float] | None = None
        self._fresh_head = InFlight(self._ask_head)

    @property
    def can_simulate(self) -> bool:
        """Whether the nodes are not known to lack eth_simulateV1."""
        return self._simulator.can_simulate

    async def head(self) -> Head:
        """Return the latest head, at most `head_ttl_s` old. Callers at once share one question."""
        if self._head and self._clock.monotonic() - self._head[1] < self._head_ttl_s:
            return self._head[0]
        return await self._fresh_head(None)

    async def _ask_head(self, _: None) -> Head:
        asked_at = self._clock.monotonic()
        head = _head(await self._rpc.call("eth_getBlockByNumber", "latest", False))
        self._head = head, asked_at
        return head

    async def token(self, address: Address) -> Token | None:
        """Return decimals and symbol, remembered; None when no ERC-20 lives there."""
        remembered, token = self._tokens.recall(address)
        if not remembered:
            views = chain_tokens.views(address)
            token = chain_tokens.token(address, await multicall.look(self._rpc, views))
            self._tokens.remember(address, token)
        return token

    async def wallet(self, wallet: Address, token: Address, spender: Address) -> WalletFacts:
        """Return head, nonce and, all at one block, ETH, token balance and allowance."""
        views = [
            multicall.eth_balance(wallet),
            View(token, erc20.balance_of(wallet)),
            View(token, erc20.allowance(wallet, spender)),
        ]
        number, nonce, code, answers = await self._rpc.batch(
            [
                Call("eth_blockNumber"),
                _count(wallet, "latest"),
                Call("eth_getCode", (wallet, "latest")),
                multicall.call(views),
            ]
        )
        eth, held, allowed = _amounts(answers, 3)
        return WalletFacts(_quantity(number), _quantity(nonce), eth, held, allowed, _octets(code))

    async def balances(self, wallet: Address, token: Address) -> tuple[int, int]:
        """Return (wei, token smallest units) at one block."""
        views = [multicall.eth_balance(wallet), View(token, erc20.balance_of(wallet))]
        eth, held = _amounts((await self._rpc.batch([multicall.call(views)]))[0], 2)
        return eth, held

    async def rehearse(self, request: SwapRequest, spenders: Sequence[Address]) -> Rehearsal:
        """Return the swap ready to be simulated; nonces and amounts are of one round trip."""
        wallet, token = request.wallet, request.sell.address
        views = [
            multicall.eth_balance(wallet),
            View(token, erc20.balance_of(wallet)),
            *(View(token, erc20.allowance(wallet, spender)) for spender in spenders),
        ]
        latest, pending, answers = await self._rpc.batch(
            [_count(wallet, "latest"), _count(wallet, "pending"), multicall.call(views)]
        )
        eth, held, *allowed = map(erc20.read_uint, multicall.answers(answers, len(views)))
        if eth is None or held is None:
            raise ChainDown("the sell token does not tell the wallet's balance")
        allowances = {s: a or 0 for s, a in zip(spenders, allowed, strict=True)}
        return await self._simulator.rehearse(
            request,
            Sender(_quantity(latest), _quantity(pending), eth),
            Holdings(held, allowances),
        )

    async def estimate_gas(self, wallet: Address, params: TransactionParams) -> int | None:
        """Return gas units; None when the node says the call would fail."""
        call = {
            "from": wallet,
            "to": params.to,
            "data": "0x" + params.data.hex(),
            "value": hex(params.value),
        }
        result = await self._rpc.call("eth_estimateGas", call, "latest")
        if isinstance(result, RpcError) and result.is_verdict:
            return None
        return _quantity(result)

    async def block(self, number: int) -> Block | None:
        """Return the canonical block at `number` with its transactions; None when not there yet."""
        block = _block(await self._rpc.call("eth_getBlockByNumber", hex(number), True))
        if block and block.number != number:
            raise ChainDown("the node answered another block than was asked for")
        return block

    async def block_by_hash(self, block_hash: str) -> Block | None:
        """Return a block by hash; None when the node does not know it."""
        block = _block(await self._rpc.call("eth_getBlockByHash", block_hash, True))
        if block and block.hash != block_hash.lower():
            raise ChainDown("the node answered another block than was asked for")
        return block

    async def finalized_number(self) -> int:
        """Return the number of the latest finalized block."""
        header = await self._rpc.call("eth_getBlockByNumber", "finalized", False)
        return _head(header).number

    async def receipts(self, tx_hashes: Sequence[str]) -> Mapping[str, Receipt | None]:
        """Return complete receipts by hash; None where there is none or half of one."""
        calls = [Call("eth_getTransactionReceipt", (tx_hash,)) for tx_hash in tx_hashes]
        results = await self._batches(calls)
        return {h: _receipt(r, h) for h, r in zip(tx_hashes, results, strict=True)}

    async def nonces(self, wallets: Sequence[Address]) -> Mapping[Address, int]:
        """Return latest transaction counts."""
        results = await self._batches([_count(wallet, "latest") for wallet in wallets])
        return {w: _quantity(r) for w, r in zip(wallets, results, strict=True)}

    async def _batches(self, calls: Sequence[Call]) -> list[Result]:
        results: list[Result] = []
        for start in range(0, len(calls), self._batch_size):
            results += await self._rpc.batch(calls[start : start + self._batch_size])
        return results


def _count(wallet: Address, block: str) -> Call:
    return Call("eth_getTransactionCount", (wallet, block))


def _octets(result: Result) -> bytes:
    try:
        return chain_wire.octets(value(result, str))
    except Malformed as error:
        raise ChainDown(f"eth_getCode: {error}") from error


def _quantity(result: Result) -> int:
    try:
        return chain_wire.quantity(value(result, str))
    except Malformed as error:
        raise ChainDown(str(error)) from error


def _amounts(result: Result, count: int) -> list[int]:
    amounts = [erc20.read_uint(answer) for answer in multicall.answers(result, count)]
    known = [amount for amount in amounts if amount is not None]
    if len(known) != count:
        raise ChainDown("the token does not tell a balance or an allowance")
    return known


def _head(result: Result) -> Head:
    try:
        return chain_wire.head(value(result, HeaderWire))
    except Malformed as error:
        raise ChainDown(f"a block header: {error}") from error


def _block(result: Result) -> Block | None:
    wire = value_or_none(result, BlockWire)
    try:
        return None if wire is None else chain_wire.block(wire)
    except Malformed as error:
        raise ChainDown(f"a block: {error}") from error


def _receipt(result: Result, tx_hash: str) -> Receipt | None:
    if isinstance(result, RpcError):
        raise ChainDown(f"the node answered error {result.code}: {result.message}")
    return chain_wire.receipt(result, tx_hash)
