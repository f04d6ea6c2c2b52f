"""A chain that wraps, swaps and unwraps what is posted, and a service that quotes for it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import rlp
from eth_utils import keccak

from quietswap.client import SwapRequest
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER, WALLET
from tests.client.fake_chain import BALANCE_OF, FakeChain, transfer
from tests.client.fake_servers import ETHER, Asked, FakeService, Reply, calldata, swap_quote
from tests.response_json import quotes
from tests.stored_orders import USDC

FIRST_NONCE = 7
TO_USDC = SwapRequest("ETH", USDC, ETHER, WALLET)
TO_ETHER = SwapRequest(USDC, "ETH", 3_000_000_000, WALLET)
PROMISED = {USDC: 3_000_000_000, WETH: ETHER}
BROUGHT = {USDC: 2_994_000_000, WETH: 999 * 10**15}
"""What a swap into the token brings."""


@dataclass
class EtherChain(FakeChain):
    """`steps` are the mined ones, in order; `pool` holds what was posted while `withholds`."""

    held: dict[str, int] = field(default_factory=lambda: {WETH: 0, USDC: 0})
    brought: dict[str, int] = field(default_factory=lambda: dict(BROUGHT))
    steps: list[str] = field(default_factory=list)
    amounts: list[int] = field(default_factory=list)
    pool: list[str] = field(default_factory=list)
    withholds: bool = False
    fails: bool = False

    def post(self, raw: str) -> None:
        """Take what the service was given; of one nonce only the first is mined."""
        self.pool.append(raw)
        if not self.withholds:
            self.mine_pool()

    def mine_pool(self) -> None:
        for raw in self.pool:
            fields = rlp.decode(bytes.fromhex(raw[4:]))
            if int.from_bytes(fields[1]) == self.nonce:
                self._mine(fields, "0x" + keccak(hexstr=raw).hex())
        self.pool.clear()

    def _mine(self, fields: list[bytes], tx_hash: str) -> None:
        self.nonce += 1
        self.logs, self.reverts, self.fails = [], self.fails, False
        if not self.reverts:
            self._do(fields)
        self.head += 1
        self.mine(tx_hash)
        self.reverts = False

    def _do(self, fields: list[bytes]) -> None:
        value, data = int.from_bytes(fields[6]), fields[7].hex()
        if value:
            self._step("wrap", value)
            self.ether, self.held[WETH] = self.ether - value, self.held[WETH] + value
        elif data.startswith("2e1a7d4d"):
            wei = int(data[8:], 16)
            self._step("unwrap", wei)
            self.ether, self.held[WETH] = self.ether + wei, self.held[WETH] - wei
        else:
            buy = WETH if self.held[USDC] else USDC
            sold = self.held.copy()[WETH if buy == USDC else USDC]
            self._step("swap", sold)
            self.held[WETH if buy == USDC else USDC] -= sold
            self.held[buy] += self.brought[buy]
            self.logs = [transfer(buy, ROUTER, WALLET, self.brought[buy])]

    def _step(self, name: str, amount: int) -> None:
        self.steps.append(name)
        self.amounts.append(amount)

    def eth_sendRawTransaction(self, raw: str) -> str:  # noqa: N802
        self.steps.append("approve")
        return super().eth_sendRawTransaction(raw)

    def eth_call(self, call: dict[str, str], block: str) -> str:
        if call["data"][2:10] == BALANCE_OF:
            return f"0x{self.held.get(call['to'], 0):064x}"
        return super().eth_call(call, block)


class TradingService(FakeService):
    """Names each order by its transaction."""

    def reply(self, asked: Asked) -> Reply:
        reply = super().reply(asked)
        own_id = f'"ord_{self.tx_hash[2:34]}"'
        return replace(reply, body=json.loads(json.dumps(reply.body).replace('"ord_1"', own_id)))


def trading(chain: EtherChain) -> FakeService:
    """Return a service that quotes as it is asked, and whose posts the chain takes."""
    service = TradingService(approvals=lambda: chain.nonce - FIRST_NONCE)
    service.mines = lambda _: chain.post(service.asked[-1].body["signedTransaction"])
    service.quote = quoting(service)
    return service


def quoting(service: FakeService, worse_bps: int = 0) -> Callable[[], dict[str, Any]]:
    """Return a maker of quotes that are so far below the promise, with the slippage asked for."""

    def quote() -> dict[str, Any]:
        query = service.asked[-1].query
        sell, buy, amount = query["sellToken"], query["buyToken"], int(query["sellAmount"])
        promised = PROMISED[buy] * (10_000 - worse_bps) // 10_000
        minimum = promised * (10_000 - int(query["slippageBps"])) // 10_000
        data = calldata(sell=sell, buy=buy, amount=amount, minimum=minimum + 1)
        made = swap_quote(
            data=data,
            sell_token=sell,
            buy_token=buy,
            sell_amount=amount,
            buy_amount=promised,
            min_buy_amount=minimum,
            slippage_bps=int(query["slippageBps"]),
        )
        return quotes.swap_quote_response(made)

    return quote
