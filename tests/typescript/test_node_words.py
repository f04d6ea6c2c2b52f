"""What the caller's own node says reaches a program bounded, in one line, and without addresses."""

from collections.abc import Iterator

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import (
    ClientError,
    NodeRpcError,
    NodeUnreachable,
    UnexpectedResponse,
    UnsafeQuote,
)
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_node import NodeSays, RawAnswer
from tests.client.fake_servers import ETHER, MINIMUM, WALLET, FakeServers, FakeService
from tests.stored_orders import USDC
from tests.typescript.both import KEY
from tests.typescript.package import Thrown, TypeScript, big

pytestmark = pytest.mark.xdist_group("typescript")

SAID = {
    "escape codes": ("bad \x1b[2J\x1b]0;owned\x07 end", "bad  [2J ]0;owned  end"),
    "a megabyte": ("x" * 2**20, "x" * 200),
    "lines and marks of direction": ("a\nb\r\u202ec\u2028d\u00a0e", "a b  c d e"),
    "a key in the path": ("path /rpc/secret is wrong", "path /rpc/*** is wrong"),
    "a key in the query": ("key k3y-k3y-k3y spent", "key *** spent"),
    "a URL": ("see https://up:pw@10.0.0.5:8545/v2/KEY now", "see *** now"),
    "an address behind it": ("dial tcp 10.0.0.5:8545: refused", "dial tcp ***: refused"),
    "localhost": ("localhost:8545 is away", "*** is away"),
    "IPv6": ("[fd00::1]:8545 is away", "*** is away"),
    "a name": ("geth-0.internal:8545", "***"),
    "figures": ("have 12:30 at 0xabc:7, v1.17.5", "have 12:30 at 0xabc:7, v1.17.5"),
    "letters of two units": ("\U0001f600" * 300, "\U0001f600" * 200),
}
"""What a node says, and what is left of it."""
TEXTS = pytest.mark.parametrize(("said", "left"), SAID.values(), ids=list(SAID))


@pytest.fixture
def node() -> FakeChain:
    return FakeChain(allowances={ROUTER.lower(): ETHER})


@pytest.fixture
def outside(node: FakeChain) -> Iterator[FakeServers]:
    servers = FakeServers(FakeService(mines=node.mine), node)
    yield servers
    servers.close()


def in_both(
    outside: FakeServers,
    typescript: TypeScript,
    kind: type[ClientError],
    *,
    same_words: bool = True,
) -> str:
    """Return the message of the error with which both clients end a swap."""
    rpc_url = f"{outside.rpc_url}?key=k3y-k3y-k3y"
    with (
        QuietswapClient(outside.url, "qs_right", rpc_url=rpc_url, sleep=lambda _: None) as client,
        pytest.raises(kind) as python,
    ):
        client.swap(SwapRequest(WETH, USDC, ETHER, WALLET), ACCOUNT)
    options = {"url": outside.url, "apiKey": "qs_right", "rpcUrl": rpc_url}
    request = {"sellToken": WETH, "buyToken": USDC, "wallet": WALLET, "sellAmount": big(ETHER)}
    with pytest.raises(Thrown) as thrown:
        typescript.run("swap", request, options=options, signer={"key": KEY})
    assert thrown.value.name == kind.__name__
    if same_words:
        assert thrown.value.fields["message"] == str(python.value)
    return str(python.value)


@TEXTS
def test_a_refusal(
    node: FakeChain, outside: FakeServers, typescript: TypeScript, said: str, left: str
) -> None:
    node.busy = lambda method: NodeSays(said) if method == "eth_chainId" else None
    assert in_both(outside, typescript, NodeRpcError) == f"eth_chainId: {left}"


@TEXTS
def test_a_busy_node(
    node: FakeChain, outside: FakeServers, typescript: TypeScript, said: str, left: str
) -> None:
    node.busy = lambda method: NodeSays(said, -32005) if method == "eth_chainId" else None
    message = in_both(outside, typescript, NodeUnreachable)
    assert message == f"eth_chainId: the node is busy: {left}"


@pytest.mark.parametrize("case", SAID)
def test_a_trial_that_reverts(
    node: FakeChain, outside: FakeServers, typescript: TypeScript, case: str
) -> None:
    """A trial's words are those of a contract, too: printable ASCII alone."""
    said, left = SAID[case]
    node.delivers, node.trial_reverts, node.trial_says = MINIMUM, True, said
    if case.startswith("a key"):
        left = said  # the trial's judge knows no address
    message = in_both(outside, typescript, UnsafeQuote)
    ascii_left = "".join(letter for letter in left if letter.isascii())[:120].strip()
    told = f": {ascii_left}" if ascii_left else ""
    assert message == f"tried on your node the swap reverts{told}: not signed"


DEEP = b"[" * 100_000 + b"]" * 100_000


def test_nested_arrays_instead_of_a_price(
    node: FakeChain, outside: FakeServers, typescript: TypeScript
) -> None:
    answer = RawAnswer(b'{"jsonrpc":"2.0","id":1,"result":' + DEEP + b"}")
    node.busy = lambda method: answer if method == "eth_call" else None  # type: ignore[assignment,return-value]
    in_both(outside, typescript, UnexpectedResponse, same_words=False)


@pytest.mark.parametrize("method", ["eth_call", "eth_getBlockByNumber", "eth_simulateV1"])
def test_nested_arrays_of_a_provider(
    outside: FakeServers, typescript: TypeScript, method: str
) -> None:
    """They are no text that is parsed: each reader meets them."""
    request = {"sellToken": WETH, "buyToken": USDC, "wallet": WALLET, "sellAmount": big(ETHER)}
    options = {"url": outside.url, "apiKey": "qs_right", "rpcUrl": outside.rpc_url}
    with pytest.raises(Thrown) as thrown:
        typescript.run("swap", request, options=options, signer={"key": KEY}, nested=method)
    assert thrown.value.name in ("UnexpectedResponse", "QuoteDeclined")


def test_a_password_of_the_url(node: FakeChain, outside: FakeServers) -> None:
    """`fetch` takes no URL with one, so only Python can be told one."""
    node.busy = lambda _: NodeSays("no user hunter2 with s3cr3t-w0rd")
    rpc_url = outside.rpc_url.replace("//", "//hunter2:s3cr3t%2Dw0rd@")
    with (
        QuietswapClient(outside.url, "qs_right", rpc_url=rpc_url) as client,
        pytest.raises(NodeRpcError) as left,
    ):
        client.swap(SwapRequest(WETH, USDC, ETHER, WALLET), ACCOUNT)
    assert str(left.value) == "eth_chainId: no user *** with ***"
