"""Port: simulation of routes for a wallet, and its results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from quietswap.domain.address import Address
from quietswap.domain.quote.route import Route


@dataclass(frozen=True, slots=True)
class AccountState:
    """Wallet state for a quote: next nonces, balance in wei, and of the sell token the balance and
    the allowance of each router in smallest units. An EOA has no `code`."""

    nonce: int
    pending_nonce: int
    eth_balance: int
    sell_balance: int
    allowances: Mapping[Address, int]
    code: bytes = b""


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Simulation result of one route: `received` in smallest units of the buy token, `gas` as
    maxUsedGas.

    `succeeded` is None if the route could not be simulated. `broken` names the rule that a
    successful swap breaks for the wallet. The transaction must be issued with exactly `gas_limit`,
    because a contract can read it. `block` identifies the simulated block and its parent; only
    results of the same block are comparable.
    """

    succeeded: bool | None
    received: int | None = None
    gas: int | None = None
    reason: str | None = None
    broken: str | None = None
    gas_limit: int | None = None
    block: str | None = field(default=None, compare=False)


class PreparedSimulation(Protocol):
    """A prepared simulation: the wallet's state, read before the routes are known."""

    @property
    def sender(self) -> AccountState:
        """Return the wallet state that was read."""

    @property
    def next_base_fee(self) -> int:
        """Return the base fee in wei of the block in which all candidates are simulated."""

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        """Simulate all candidates from the same state in one round trip; on failure, each alone.

        Further calls simulate in the same block, if the node knows it. Each candidate runs as its
        transaction would in the next block. Missing balance, allowance or ETH is overridden. A
        candidate with a wrong gas limit runs again, at most three times. The spender of a candidate
        must be one of the spenders that the preparation received.
        """
