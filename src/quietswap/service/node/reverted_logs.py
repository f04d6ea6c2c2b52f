"""Whether a node reports the logs of calls that were reverted, as older versions of Nethermind do.

Honest routes are then refused as moving tokens of the wallet, because a router may try a pool, and
undo it. The logs decide all the same: balances are read of two tokens only, and an approval shows
in no balance (docs/decisions/0017-simulated-as-it-will-run.md).
"""

import secrets

from quietswap.rules.trial.codec import simulation_call
from quietswap.rules.trial.next_block import RandBelow, unused_address
from quietswap.rules.tx import address as addresses
from quietswap.service.node.rpc import NodeRpcClient, ask

CODE = "0x3615600b575f5fa05f5ffd5b5f5f60015f5f305af15000"
"""Called without data it calls itself with one byte; then it logs and reverts."""
WARNING = (
    "the node reports logs of reverted calls, so its logs and its balances disagree: honest routes"
    " may be refused as moving tokens of the wallet; use a newer version of the node"
)


async def reports_reverted_logs(rpc: NodeRpcClient, below: RandBelow = secrets.randbelow) -> bool:
    """Try a call whose inner call logs and is reverted. Raises NodeUnavailable."""
    contract = addresses.from_bytes(unused_address(below))
    [call] = await ask(rpc, simulation_call({contract: {"code": CODE}}, [{"to": contract}]))
    return bool(call.logs)
