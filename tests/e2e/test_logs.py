"""What the service writes about itself through a campaign of faults: much, and nothing secret."""

import asyncio
import contextlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account

from quietswap.sandbox.ports import free_port
from tests.databases import PostgresCluster, RedisServer
from tests.e2e.conftest import Town, running_town
from tests.e2e.secrets_scan import leaks
from tests.e2e.serving import Served, serving
from tests.e2e.test_delivery import Trader
from tests.e2e.test_stop import ORDERS
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("logs")  # one campaign

SPOILT = (
    ("venues", "html:403"), ("venues", "garbage"), ("venues", "half_answer"), ("venues", "refused"),
    ("venues", "foreign_router"), ("venues", "lie:2.0"), ("venues", "500"), ("prices", "500"),
    ("node", "no_simulate"), ("node", "garbage"), ("node", "half_answer"), ("node", "500"),
    ("node", "down"),
)  # fmt: skip
"""Faults under which quotes are asked for."""
SENT = (
    "answer_lost", "500", "half_answer", "refuse:execution reverted {raw}", "refuse:{raw}",
    "garbage", "already_known",
)  # fmt: skip
"""What the relay does with orders; `{raw}` is the transaction it was sent."""
WRITTEN = {
    "request_answered", "request_unserved", "source_missed", "route_unsafe", "relay_answered",
    "verification_unavailable", "node_failed", "order_moved", "tracker_started",
    "library_complained",
}  # fmt: skip
"""Events that a campaign must have brought about, or it looked at too little."""
HUSH = {
    name: f"hush-{name}-4711"
    for name in (
        "node-user", "node-password", "node-path", "node-query", "relay-user", "relay-password",
        "backup-path", "postgres", "redis", "otlp-password", "otlp-token", "coingecko", "zeroex",
        "oneinch", "velora", "wrong-key",
    )
}  # fmt: skip


class Campaign:
    """One client with every kind of trouble; keeps what was answered and what must not be told."""

    def __init__(self, town: Town, served: Served) -> None:
        self.town, self.served = town, served
        self.trader = Trader(served.town, served.key)
        self.raws: list[str] = []
        self.answers: list[httpx.Response] = []
        served.town.api.event_hooks["response"].append(self.answers.append)
        self.pair = town.facts["tokens"]["WETH"], town.facts["tokens"]["USDC"]

    def quotes(self) -> None:
        """Ask for a quote under each fault."""
        for part, fault in SPOILT:
            with self.fault(part, fault):
                self.served.town.quote()
        served = self.served.town
        wait_until(lambda: served.quote().status_code == 200, "no quote after the faults", 0.2)

    def orders(self) -> None:
        """Post an order under each fault of the relay, which may quote it back; then once more."""
        for place, fault in enumerate(SENT, 1):
            quote = self.trader.ready_quote(*self.pair, place * 10**15)
            body = self.trader.signed_order(quote)
            self.raws.append(body["signedTransaction"])
            with self.fault("relay", fault.format(raw=self.raws[-1])):
                self.post(body)
            self.post(body)

    def mistakes(self) -> None:
        """Send keys and transactions where they do not belong."""
        body = self.trader.signed_order(self.trader.ready_quote(*self.pair, 10**16))
        self.raws.append(body["signedTransaction"])
        for signed in (self.trader.private_key, body["signedTransaction"][:-4], "0x"):
            self.post(body | {"signedTransaction": signed})
        self.post(body | {"orderParams": body["signedTransaction"]})
        self.post({"privateKey": self.trader.private_key})
        api, key = self.served.town.api, self.served.key
        api.get(f"{ORDERS}/{key}")
        api.get(f"/{self.trader.private_key}", params={"key": key})
        api.get(ORDERS, headers={"X-API-Key": HUSH["wrong-key"]})
        api.get(ORDERS, headers={"X-Request-Id": key})

    def wallets(self) -> None:
        """Call an RPC URL of a wallet in every way that goes wrong, and put it elsewhere."""
        api = self.served.town.api
        wallet = self.town.facts["wallets"][0]["address"]
        made = api.post("/api/v1/mev/rpc", json={"wallets": [wallet]}).json()["data"]["token"]
        self.rpc_secret = made["url"].rpartition("/")[2]
        self.path = f"/rpc/{self.rpc_secret}"
        signed = self.trader.signed_order(self.trader.ready_quote(*self.pair, 10**16))
        self.raws.append(signed["signedTransaction"])
        for method, params in (
            ("eth_blockNumber", []), ("eth_sendRawTransaction", self.raws[-1:]),
            ("eth_call", [{"to": wallet, "data": self.raws[-1]}, "0x7fffffff"]), (made["url"], []),
        ):  # fmt: skip
            for fault in ("html:403", "garbage", "500", "down"):
                with self.fault("node", fault):
                    self.call(method, params)
            self.call(method, params)
        for odd in (f"{self.path}/", f"{self.path}x", f"/api/v1{self.path}", self.path.upper()):
            api.post(odd, json={})
        api.get(self.path, params={"url": made["url"]})
        api.delete(f"/api/v1/mev/rpc/{self.rpc_secret}")

    def call(self, method: str, params: list[Any]) -> None:
        body = {"jsonrpc": "2.0", "id": self.rpc_secret, "method": method, "params": params}
        self.served.town.api.post(self.path, json=body)

    def post(self, body: dict[str, Any]) -> None:
        self.served.town.api.post(ORDERS, json=body)

    @contextlib.contextmanager
    def fault(self, part: str, fault: str) -> Iterator[None]:
        self.town.fault(part, fault)
        try:
            yield
        finally:
            self.town.heal(part)


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    """A sandbox of this module's own: what other tests traded must not change the campaign."""
    with running_town() as found:
        yield found


@pytest.fixture(scope="module")
def campaign(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    """A campaign that has ended, with the service and its log."""
    folder = tmp_path_factory.mktemp("logs")
    with contextlib.ExitStack() as stack:
        postgres, redis = PostgresCluster(), RedisServer()
        stack.callback(postgres.close)
        stack.callback(redis.close)
        redis.command("CONFIG", "SET", "requirepass", HUSH["redis"])
        settings = secretive(town, asyncio.run(postgres.migrated()), redis.url)
        served = stack.enter_context(serving(town, folder, **settings))
        campaign = Campaign(town, served)
        campaign.quotes()
        campaign.orders()
        campaign.mistakes()
        campaign.wallets()
        postgres.kill()
        served.town.quote()
        served.town.api.get(f"{ORDERS}/none")
        campaign.call("eth_blockNumber", [])
        postgres.start()
        campaign.trader.node.http.close()
        served.stop()
        yield campaign


def secretive(town: Town, database: str, redis: str) -> dict[str, str]:
    """Return settings that hold a secret wherever one can stand."""
    node = town.facts["rpcUrl"].rstrip("/").partition("://")[2]
    relay = relays(town)["first"]["url"].rstrip("/").partition("://")[2]
    backup = relays(town)["backup"]["url"].rstrip("/")
    user = f"{HUSH['node-user']}:{HUSH['node-password']}"
    return {
        "NODE__URLS": f"http://{user}@{node}/{HUSH['node-path']}?key={HUSH['node-query']}",
        "RELAY__FIRST__URL": f"http://{HUSH['relay-user']}:{HUSH['relay-password']}@{relay}",
        "RELAY__BACKUP__URL": f"{backup}/{HUSH['backup-path']}",
        "STORAGE__URL": database.replace("postgres:@", f"postgres:{HUSH['postgres']}@"),
        "STORAGE__REDIS_URL": redis.replace("unix://", f"unix://:{HUSH['redis']}@"),
        "OBSERVE__OTLP_ENDPOINT": f"http://u:{HUSH['otlp-password']}@127.0.0.1:{free_port()}/v1",
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{HUSH['otlp-token']}",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "PRICES__COINGECKO_KEY": HUSH["coingecko"],
        "QUOTES__SOURCES": "kyberswap,velora,zeroex,oneinch",
        "SOURCE__ZEROEX__API_KEY": HUSH["zeroex"],
        "SOURCE__ONEINCH__API_KEY": HUSH["oneinch"],
        "SOURCE__VELORA__API_KEY": HUSH["velora"],
    }


def relays(town: Town) -> dict[str, dict[str, str]]:
    """Return the relays of the sandbox's own settings."""
    settings = tomllib.loads(Path(town.facts["settingsFile"]).read_text("utf-8"))
    found: dict[str, dict[str, str]] = settings["relay"]
    return found


def test_no_line_holds_a_secret_or_a_piece_of_a_transaction(campaign: Campaign) -> None:
    text = campaign.served.log.read_text("utf-8")
    wallets = {
        entry["address"]: entry["privateKey"][2:] for entry in campaign.town.facts["wallets"]
    }
    secrets = (
        HUSH | wallets | {"API key": campaign.served.key, "half of it": campaign.served.key[:35]}
    )
    secrets |= {"RPC URL": campaign.rpc_secret, "half of that": campaign.rpc_secret[:35]}
    assert len(campaign.raws) > len(SENT)
    assert leaks(text, secrets, campaign.raws) == []


def test_no_answer_holds_a_secret_of_the_settings(campaign: Campaign) -> None:
    texts = [answer.text for answer in campaign.answers]
    assert leaks("\n".join(texts), HUSH, []) == []
    relay = relays(campaign.town)["first"]["url"].rstrip("/")
    shown = f'"endpoint":"{relay}/noreverts?shareSafe=1&referrer=quietswap"'
    assert any(shown in text for text in texts)
    assert any(f'"trackingUrl":"{relay}/tx/0x' in text for text in texts)


def test_the_campaign_was_one(campaign: Campaign) -> None:
    events = {line["event"] for line in campaign.served.lines()}
    assert events >= WRITTEN
    codes = {answer.status_code for answer in campaign.answers}
    assert {200, 400, 401, 404, 422, 503} <= codes


def test_every_line_is_json_with_a_level_and_a_time(campaign: Campaign) -> None:
    lines = campaign.served.log.read_text("utf-8").splitlines()
    assert "service_starting" in {json.loads(line)["event"] for line in lines[:2]}
    for line in lines:
        entry = json.loads(line)
        assert {"event", "level", "timestamp"} <= entry.keys()
        assert entry["level"] in {"info", "warning", "error"}


def test_every_request_has_one_line_by_the_id_its_client_was_given(campaign: Campaign) -> None:
    asked = {line["request"]: line for line in told(campaign, "request_answered")}
    assert len(asked) == len(told(campaign, "request_answered")) == len(campaign.answers)
    for answer in campaign.answers:
        line = asked[answer.headers["X-Request-Id"]]
        assert line["status"] == answer.status_code
        error = answer.json().get("error", "OK")
        assert line["code"] == (str(error["code"]) if isinstance(error, dict) else error)
        assert isinstance(line["ms"], float)
        known = answer.status_code != 401 and "X-RateLimit-Limit" in answer.headers
        assert (line["key"] is not None) == known
        assert line["client"] == "127.0.0.1"
    endpoints = {line["endpoint"] for line in asked.values()}
    assert {"swap_quote", "swap_order", "order_status", "wallet_rpc", "other"} <= endpoints


def test_what_happens_for_a_request_carries_its_id(campaign: Campaign) -> None:
    ids = {answer.headers["X-Request-Id"] for answer in campaign.answers}
    for event in ("source_missed", "route_unsafe", "relay_answered", "request_unserved"):
        lines = told(campaign, event)
        assert lines
        assert {line["request"] for line in lines if "request" in line} <= ids
        assert any("request" in line for line in lines)


def told(campaign: Campaign, event: str) -> list[dict[str, Any]]:
    return [line for line in campaign.served.lines() if line["event"] == event]


def test_the_scan_finds_what_it_looks_for() -> None:
    account = Account.create()
    fees = {"gas": 21_000, "maxFeePerGas": 10**9, "maxPriorityFeePerGas": 0, "value": 10**17}
    to = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
    signed = Account.sign_transaction(
        {"to": to, "nonce": 7, "chainId": 1, "type": 2, "data": "0x2e1a7d4d" + "ab" * 32, **fees},
        account.key,
    )
    raw = signed.raw_transaction.to_0x_hex()
    for piece in (raw, raw[2:40], raw[-40:].upper(), f"{signed.r:064x}", f"x{signed.s:064x}x"):
        assert leaks(f'{{"reason": "{piece}"}}', {}, [raw]) == ["transaction 0"], piece
    assert leaks(str(bytes(signed.raw_transaction)), {}, [raw]) == ["the bytes of transaction 0"]
    assert leaks("said QS_abc", {"key": "qs_abc"}, []) == ["key"]
    assert leaks(f'"token": "{to}", "order": "ord_{"7f" * 16}"', {"key": "qs_abc"}, [raw]) == []
