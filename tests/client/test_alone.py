"""The client by itself: what it imports, how it closes, and that nothing warns."""

import subprocess
import sys

from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER, FakeServers
from tests.waiting import LONG_S

SERVER = ("granian", "structlog", "prometheus_client", "click", "rich", "eth_account", "asyncpg")
PARTS = (
    "api", "server", "storage", "observe", "cli", "sandbox", "chain.rpc", "chain.node",
    "chain.reads", "http_client", "concurrency", "relays.relay",
)  # fmt: skip

IMPORTS = """
import sys
import quietswap.client
print(*sorted(sys.modules))
"""

FLOW = """
import asyncio, gc, sys
from eth_account import Account
from quietswap.client import AsyncQuietswapClient, PollingPolicy, QuietswapClient, SwapRequest, WETH

url, rpc_url, key = sys.argv[1:]
account = Account.from_key(key)
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
request = SwapRequest(WETH, USDC, 10**18, account.address)
polling = PollingPolicy(interval_s=0.01, node_interval_s=0.01)

with QuietswapClient(url, "qs_right", rpc_url=rpc_url, polling=polling) as client:
    assert client.swap(request, account).succeeded
    assert client.wrap("1", account).receipt.succeeded

async def again():
    async with AsyncQuietswapClient(url, "qs_right", rpc_url=rpc_url, polling=polling) as client:
        results = await asyncio.gather(*(client.swap(request, account) for _ in range(3)))
        assert all(result.succeeded for result in results)

asyncio.run(again())

forgotten = QuietswapClient(url, "qs_right")
forgotten.order_status("ord_1")
del forgotten
gc.collect()
print("done")
"""


def run(script: str, *words: str) -> str:
    """Run a script where every warning is an error; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning:parsimonious", "-c",
         script, *words],
        capture_output=True, text=True, timeout=LONG_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_it_imports_nothing_of_the_service() -> None:
    loaded = set(run(IMPORTS).split())
    assert "quietswap.client" in loaded
    assert not loaded & set(SERVER)
    assert not loaded & {f"quietswap.{part}" for part in PARTS}


def test_both_manners_run_and_close_without_a_warning(
    outside: FakeServers, node: FakeChain
) -> None:
    node.allowances["0x6131b5fae19ea4f9d964eac0408e4408b66337b5"] = ETHER
    key = "0x" + bytes(ACCOUNT.key).hex()
    assert run(FLOW, outside.url, outside.rpc_url, key) == "done\n"
