"""The table of reports about relays. A new report is a new row."""

from dataclasses import dataclass

from tests.fake_web import Answer

_HTML = "text/html"


def error(code: int | str, message: str) -> bytes:
    """Return a JSON-RPC error."""
    shown = code if isinstance(code, int) else f'"{code}"'
    text = f'{{"jsonrpc":"2.0","id":1,"error":{{"code":{shown},"message":"{message}"}}}}'
    return text.encode()


@dataclass(frozen=True)
class RelayCase:
    """`outcome` of one answer, whether the relay counts as down after three, and what is shown."""

    source: str
    answer: Answer
    outcome: str
    down: bool
    shown: str


_GH = "https://github.com/"
CASES = (
    RelayCase(
        f"{_GH}OpenZeppelin/openzeppelin-relayer/issues/539",
        Answer(b'{"error":"invalid api key"}', 401),
        "not_taken", True, "HTTP 401, it says “invalid api key”",
    ),
    RelayCase(
        "issue 41: a gateway without a backend",
        Answer(b"<html><h1>502 Bad Gateway</h1></html>", 502, _HTML),
        "silent", True, "HTTP 502, it says “502 Bad Gateway”",
    ),
    RelayCase(
        "issue 41: overloaded",
        Answer(b'{"message":"no healthy upstream"}', 503),
        "silent", True, "HTTP 503, it says “no healthy upstream”",
    ),
    RelayCase(
        "issue 41: a rate limit",
        Answer(error(429, "too many requests"), 429),
        "not_taken", True, "HTTP 429, it says “too many requests”",
    ),
    RelayCase(
        "issue 41: Cloudflare without an origin",
        Answer(b"error code: 1016", 530, _HTML),
        "not_taken", True, "HTTP 530, it says “error code: 1016”",
    ),
    RelayCase(
        "issue 41: a maintenance page",
        Answer(b"<html><title>Maintenance</title></html>", 200, _HTML),
        "silent", True, "HTTP 200, it says “Maintenance”",
    ),
    RelayCase(
        "issue 41: a URL of another service",
        Answer(error(-32601, "the method eth_sendRawTransaction does not exist")),
        "not_taken", True, "HTTP 200, it says “the method eth_sendRawTransaction does not exist”",
    ),
    RelayCase(
        f"{_GH}AlphaWallet/alpha-wallet-ios/issues/6614",
        Answer(b'{"id":1,"error":{"code":"-32001","message":"Unauthorized"}}'),
        "not_taken", True, "HTTP 200, it says “Unauthorized”",
    ),
    RelayCase(
        "a relay that refuses a tip of zero takes none of our transactions",
        Answer(error(-32000, "transaction underpriced: gas tip cap 0, minimum needed 1")),
        "invalid", True,
        "HTTP 200, it says “transaction underpriced: gas tip cap 0, minimum needed 1”",
    ),
    RelayCase(
        "an unknown error may be about one transaction: one wallet cannot take a relay away",
        Answer(error(-32000, "sender is on a list")), "silent", False, "",
    ),
    RelayCase(
        "a relay that answers to one transaction serves",
        Answer(error(-32000, "insufficient funds for gas")), "no_funds", False, "",
    ),
    RelayCase(
        f"{_GH}NethermindEth/nethermind/issues/4148",
        Answer(error(-32010, "AlreadyKnown")),
        "held", False, "",
    ),
    RelayCase(
        f"{_GH}NethermindEth/nethermind/issues/12153",
        Answer(error(-32010, "FeeTooLowToCompete, 100 is below 120")),
        "conflict", False, "",
    ),
    RelayCase(
        f"{_GH}NethermindEth/nethermind/issues/4829",
        Answer(error(-32010, "InsufficientFunds, Account balance: 3, cumulative cost: 5")),
        "no_funds", False, "",
    ),
    RelayCase(
        f"{_GH}gnosis/gp-v2-services/pull/1584",
        Answer(error(-32000, "invalid nonce")),
        "nonce_used", False, "",
    ),
    RelayCase(
        f"{_GH}NethermindEth/nethermind/pull/8126",
        Answer(error(-32000, "wrong transaction nonce")),
        "nonce_used", False, "",
    ),
    RelayCase(
        f"{_GH}ethereum/execution-specs/pull/3598",
        Answer(error(-32004, "up-front gas cost 1 exceeds transaction sender account balance 0")),
        "no_funds", False, "",
    ),
    RelayCase(
        f"{_GH}eth-clients/goerli/issues/82",
        Answer(error(-32000, "tx fee (1.42 ether) exceeds the configured cap (1.00 ether)")),
        "invalid", False, "",
    ),
    RelayCase(
        f"{_GH}flashbots/ethers-provider-flashbots-bundle/issues/107",
        Answer(error(-32000, "MaxFeePerGasTooLow")),
        "silent", False, "",
    ),
    RelayCase(
        f"{_GH}smartcontractkit/chainlink/pull/7999",
        Answer(error(-32010, "NonceGap, Future nonce. Expected nonce: 4")),
        "silent", False, "",
    ),
    RelayCase(
        f"{_GH}decred/dcrdex/pull/3498",
        Answer(error(-32000, "already known")),
        "held", False, "",  # held before
    ),
    RelayCase(
        f"{_GH}flashbots/rpc-endpoint/issues/163",
        Answer(error(-32601, "the method eth_sendPrivateTransaction does not exist")),
        "not_taken", True,  # held before
        "HTTP 200, it says “the method eth_sendPrivateTransaction does not exist”",
    ),
    RelayCase(
        f"{_GH}NethermindEth/nethermind/issues/3923",
        Answer(error(-32010, "Filtered")),
        "silent", False, "",  # held before
    ),
    RelayCase(
        "a refusal of one wallet, with a code that means a limit elsewhere",
        Answer(error(-32007, "Sender account not authorized to send transactions")),
        "silent", False, "",
    ),
)  # fmt: skip
