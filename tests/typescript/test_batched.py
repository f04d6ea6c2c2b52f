"""`batch` of the TypeScript client: as Python's, one signature, and no other than it asked for."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest

from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER, WALLET
from tests.batches import MODE, SELECTOR, STRANGER, Batch, Call, delegated, execute, wrong_batches
from tests.client.fake_chain import FakeChain, transfer
from tests.client.fake_servers import ETHER, MINIMUM, FakeService, swap_quote
from tests.client.test_batched import BATCH, CONVERTING, GOOD, LEAST, converting, offered
from tests.client.test_simulation import ETHER_LOG, SYSTEM_LOG
from tests.client.test_swap_flow import OTHER_ROUTER
from tests.response_json import quotes
from tests.stored_orders import USDC
from tests.typescript.both import KEY, Outside, Scenario, _camel, but, ends
from tests.typescript.package import Thrown, TypeScript
from tests.typescript.prepare import node
from tests.typescript.scenarios import NO_ALLOWANCE, SWAP

pytestmark = pytest.mark.xdist_group("typescript")
BATCHES = {"": (BATCH, GOOD)} | CONVERTING
"""Request and batch by conversion."""
KINDS = list(BATCHES)
MOVED = {
    "": [],
    "wrap": [transfer(ETHER_LOG, WALLET, WETH, ETHER)],
    "unwrap": [transfer(ETHER_LOG, WETH, WALLET, LEAST)],
}
"""Movements of ETH that an honest trial of each shows."""


def quote_of(kind: str, **changes: Any) -> dict[str, Any]:
    """Return the quote of a request, whose batch has these changes."""
    return converting(kind, **changes) if kind else offered(**changes)


def scenario(kind: str, method: str = "plan", **changes: Any) -> Scenario:
    """Return a batch of a delegated wallet whose trial is honest; its offer has these changes."""
    quote = quote_of(kind, **changes)

    def serve(_: FakeChain, service: FakeService) -> None:
        service.quote = lambda: quote

    request, _ = BATCHES[kind]
    sold = request.sell_amount or 0
    trial = {
        "delivers": 1 if kind == "unwrap" else MINIMUM + 5,
        "takes": 0 if kind == "wrap" else sold,
        "trial_logs": MOVED[kind],
        "logs": [transfer(USDC if kind != "unwrap" else WETH, ROUTER, WALLET, 3 * 10**9 + LEAST)],
    }
    more = {"max_loss_percent": 100} if kind == "unwrap" else {}
    return replace(
        but(
            SWAP, NO_ALLOWANCE, node(code=delegated(), ether=5 * ETHER, **trial), serve,
            sell_token=request.sell_token, buy_token=request.buy_token, sell_amount=sold,
            batch=True, **more,
        ),
        method=method,
    )  # fmt: skip


def measured(_: FakeChain, service: FakeService) -> None:
    """The router measures its own balance, so that a fee on transfer is tried, too."""
    quote = quotes.swap_quote_response(swap_quote(target=OTHER_ROUTER))
    data = bytes.fromhex(quote["dexRoute"]["data"][2:])
    batch = replace(GOOD, router=OTHER_ROUTER, swap=data)
    plain = quote["mevProtection"]["transactionParams"]
    form = plain | {"to": WALLET, "data": "0x" + batch.data.hex(), "gasLimit": "400000"}
    quote["batch"] = offered()["batch"] | {"transactionParams": form}
    service.quote = lambda: quote


def gone(_: FakeChain, service: FakeService) -> None:
    """The service has no batch for this wallet."""
    quote = quotes.swap_quote_response(swap_quote())
    service.quote = lambda: quote


PLANS: dict[str, Scenario] = {
    "approve and swap": scenario(""),
    "a router that measures itself": but(scenario(""), measured),
    "wrap": scenario("wrap"),
    "wrap, logged twice": but(
        scenario("wrap"),
        node(trial_logs=[*MOVED["wrap"], transfer(SYSTEM_LOG, WALLET, WETH, ETHER)]),
    ),
    "wrap, with an allowance": but(scenario("wrap"), node(balance=0)),
    "unwrap": scenario("unwrap"),
    "in WETH": but(scenario("wrap"), sell_token=WETH, batch_conversion="wrap"),
}
NOT_NEEDED = but(scenario(""), node(allowances={ROUTER.lower(): ETHER}))
"""The allowance suffices: the plain form, without a batch."""

REFUSED: dict[str, tuple[Scenario, str]] = {
    "a plain wallet": (but(scenario("wrap"), node(code="0x")), "no approve and swap in one"),
    "a contract": (but(scenario("wrap"), node(code="0x6080")), "no approve and swap in one"),
    "a stranger's code": (
        but(scenario("wrap"), node(code=delegated(STRANGER))), "no approve and swap in one"
    ),
    "longer code": (
        but(scenario("wrap"), node(code=delegated() + "00")), "no approve and swap in one"
    ),
    "an allowance": (
        but(scenario(""), node(allowances={ROUTER.lower(): 1})), "no approve and swap in one"
    ),
    "an allowance that suffices, with ETH": (
        but(scenario("wrap"), node(allowances={ROUTER.lower(): ETHER})),
        "no approve and swap in one, with the wrap",
    ),
    "a reason of the service": (scenario("wrap", reason="it is Tuesday"), "in one, with the wrap"),
    "no batch": (but(scenario(""), gone), "no approve and swap in one"),
    "a transaction before it": (but(scenario(""), node(nonce=6, waiting=1)), "in one"),
    "too little ETH": (but(scenario("wrap"), node(ether=ETHER)), "wei of ETH"),
    "too little to sell": (but(scenario(""), node(balance=ETHER - 1)), "smallest units"),
    "a minimum": (but(scenario("wrap"), at_least=MINIMUM + 1), "is below"),
    "gas of the batch": (
        scenario("wrap", gasLimit="16000000", maxFeePerGas=str(5 * 10**9)), "its gas may cost"
    ),
}  # fmt: skip
UNSAFE: dict[str, Scenario] = {
    "its trial reverts": but(scenario("wrap"), node(trial_reverts=True)),
    "its trial delivers less": but(scenario("wrap"), node(delivers=MINIMUM - 1)),
    "its trial unwraps less": but(scenario("unwrap"), node(delivers=-1)),
    "a node that cannot try it": but(scenario("wrap"), node(delivers=None)),
    "no mode": but(scenario("wrap"), node(mode=0)),
    "an allowance is left": but(scenario("wrap"), node(left=1)),
    "sells WETH of the wallet": but(scenario("wrap"), node(takes=1)),
    "a dear fee cap": scenario("wrap", maxFeePerGas=str(10**12)),
    "nonces of two": scenario("", nonce=8),
    **{
        f"{kind}s {name}": but(scenario(kind), node(trial_logs=logs))
        for kind, source, to, amount in (
            ("wrap", WALLET, WETH, ETHER), ("unwrap", WETH, WALLET, LEAST)
        )
        for name, logs in {
            "nothing by the logs": [],
            "one wei more": [transfer(ETHER_LOG, source, to, amount + 1)],
            "one wei less": [transfer(SYSTEM_LOG, source, to, amount - 1)],
            "twice": [transfer(ETHER_LOG, source, to, amount)] * 2,
            "otherwise by its second log": [
                transfer(ETHER_LOG, source, to, amount), transfer(SYSTEM_LOG, source, to, 1)
            ],
            "and pays a stranger": [
                transfer(ETHER_LOG, source, to, amount), transfer(ETHER_LOG, WALLET, STRANGER, 1)
            ],
            "only by a token": [transfer(USDC, source, to, amount)],
        }.items()
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    servers = Outside()
    yield servers
    servers.servers.close()


def same(case: Scenario, typescript: TypeScript, outside: Outside) -> dict[str, Any]:
    """Return how a scenario ends with both clients, which is the same, and unsigned."""
    expected, made = ends(case, typescript, outside)
    assert made == expected
    assert (expected["posted"], expected["approvals"]) == ([], [])
    return expected


@pytest.mark.parametrize("name", PLANS)
def test_it_is_planned_and_tried_as_one_signature(
    typescript: TypeScript, outside: Outside, name: str
) -> None:
    found = same(PLANS[name], typescript, outside)
    plan = found["result"]
    assert (plan["steps"], plan["signatures"], plan["refusal"]) == (["batch"], 1, None)
    assert plan["params"] == WALLET
    assert len(found["simulated"]) == 1
    asked = {
        query.get("conversion") for _, path, query in found["asked"] if path.endswith("/quote")
    }
    assert asked == {plan["batched"][1]}


def test_without_a_needed_approval_it_is_the_plain_form(
    typescript: TypeScript, outside: Outside
) -> None:
    plan = same(NOT_NEEDED, typescript, outside)["result"]
    assert (plan["steps"], plan["batched"]) == (["swap"], [False, None, False])


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_wallet_cannot_do_is_the_refusal(
    typescript: TypeScript, outside: Outside, name: str
) -> None:
    case, words = REFUSED[name]
    assert words in same(case, typescript, outside)["result"]["refusal"]["declined"]


@pytest.mark.parametrize("name", UNSAFE)
def test_what_nobody_may_sign_is_refused_before_the_signature(
    typescript: TypeScript, outside: Outside, name: str
) -> None:
    case = replace(UNSAFE[name], method="swap")
    assert same(case, typescript, outside)["error"]["name"] in ("UnsafeQuote", "QuoteDeclined")


@pytest.mark.parametrize("kind", KINDS)
def test_without_an_own_node_nothing_is_planned(
    typescript: TypeScript, outside: Outside, kind: str
) -> None:
    """Nor is the plain form signed in its place: it would sell WETH that the wallet has."""
    alone = replace(scenario(kind), node=False)
    for each in ends(alone, typescript, outside):
        assert "approve and swap in one needs your own node" in each["error"]["declined"]
    options = {"url": outside.servers.url, "apiKey": "qs_right"}
    with pytest.raises(Thrown, match=r"needs rpcUrl|own node \(rpcUrl\)"):
        typescript.run("swap", _camel(alone.request), signer={"never": True}, options=options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_swap_signs_the_batch_once(typescript: TypeScript, outside: Outside, kind: str) -> None:
    expected, made = ends(scenario(kind, "swap"), typescript, outside)
    assert made == expected
    assert made["result"]["succeeded"]
    assert (len(made["posted"]), made["approvals"]) == (1, [])
    assert BATCHES[kind][1].data.hex() in made["posted"][0]["signedTransaction"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_wrong_batch_is_refused(typescript: TypeScript, kind: str) -> None:
    """The same ones that service and Python client refuse."""
    request, good = BATCHES[kind]
    asked = _camel(asdict(replace(request.in_weth, batch_conversion=None)) | {
        "sell_token": request.sell_token, "buy_token": request.buy_token
    })  # fmt: skip
    wrong = wrong_batches(good)
    assert len(wrong) > 300
    cases = [
        [_form(quote_of(kind, **one.fields | {"value": str(one.value)})), asked] for one in wrong
    ]
    *refused, right = typescript.ask("checkBatches", [*cases, [_form(quote_of(kind)), asked]])
    taken = [one.name for one, reason in zip(wrong, refused, strict=True) if reason is None]
    assert (taken, right) == ([], None)


def _form(quote: dict[str, Any]) -> dict[str, Any]:
    quote["mevProtection"]["transactionParams"] = quote["batch"]["transactionParams"]
    return quote


def bent(good: Batch, at: int, **parts: Any) -> bytes:
    """Return the batch whose call at a place has another target, value or calldata."""
    calls = good.around(good.calls)
    target, value, data = calls[at]
    calls[at] = (parts.get("to", target), parts.get("value", value), parts.get("data", data))
    return execute(calls)


def argument(good: Batch, at: int, place: int, word: int | str) -> bytes:
    """Return the batch with another word as an argument of a call."""
    data = good.around(good.calls)[at][2]
    number = int(word, 16) if isinstance(word, str) else word
    start = 4 + 32 * place
    return bent(good, at, data=data[:start] + number.to_bytes(32) + data[start + 32 :])


def hostile() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield kind, changes of the batch's transaction, and the part that the refusal names."""
    wrap, unwrap = CONVERTING["wrap"][1], CONVERTING["unwrap"][1]
    extra: list[Call] = [(STRANGER, 1, b"")]
    for kind, data, part in (
        ("wrap", bent(wrap, 0, value=ETHER + 1), "value of the wrap"),
        ("wrap", bent(wrap, 0, to=STRANGER), "target of the wrap"),
        ("wrap", bent(wrap, 0, data=b"\xd0\xe3\x0d\xb1"), "calldata of the wrap"),
        ("wrap", bent(wrap, 1, to=STRANGER), "target of the approval"),
        ("wrap", bent(wrap, 1, value=1), "value of the approval"),
        ("wrap", argument(wrap, 1, 0, STRANGER), "spender of the approval"),
        ("wrap", argument(wrap, 1, 1, ETHER + 1), "amount of the approval"),
        ("wrap", bent(wrap, 2, to=STRANGER), "target of the swap"),
        ("wrap", bent(wrap, 2, value=1), "value of the swap"),
        ("wrap", bent(wrap, 2, data=wrap.swap[:-1] + b"\1"), "calldata of the swap"),
        ("unwrap", argument(unwrap, 2, 0, LEAST + 1), "amount of the unwrap"),
        ("unwrap", bent(unwrap, 2, to=STRANGER), "target of the unwrap"),
        ("unwrap", bent(unwrap, 2, value=1), "value of the unwrap"),
        ("unwrap", bent(unwrap, 2, data=b"\xa9\x05\x9c\xbb" + bytes(32)), "calldata of the unwrap"),
        ("unwrap", argument(unwrap, 0, 0, STRANGER), "spender of the approval"),
        ("unwrap", argument(unwrap, 0, 1, 10**6 + 1), "amount of the approval"),
        ("unwrap", execute([*unwrap.around(unwrap.calls), *extra]), "number of calls"),
        ("wrap", execute([*wrap.around(wrap.calls), *extra]), "number of calls"),
        ("wrap", execute(wrap.calls), "number of calls"),
        ("", execute([*GOOD.calls, *extra]), "number of calls"),
        ("wrap", wrap.execute(wrap.calls, bytes(32)), "mode"),
        ("wrap", bytes(4) + wrap.data[4:], "call"),
        ("wrap", wrap.data + bytes(32), "encoding"),
    ):
        yield kind, {"data": "0x" + data.hex()}, f"another {part}"
    yield "wrap", {"to": STRANGER}, "another receiver than the wallet itself"
    yield "wrap", {"value": str(ETHER)}, "ETH to be sent along"
    yield "wrap", {"maxPriorityFeePerGas": "1"}, "a priority fee"
    assert wrap.data[:36] == SELECTOR + MODE


@pytest.mark.parametrize(("kind", "changes", "part"), list(hostile()))
def test_a_hostile_service_gets_no_signature_and_the_part_is_named(
    typescript: TypeScript, outside: Outside, kind: str, changes: dict[str, Any], part: str
) -> None:
    case = scenario(kind, "swap", **changes)
    assert same(case, typescript, outside)["error"]["name"] == "UnsafeQuote"
    outside.present.asked.clear()
    with pytest.raises(Thrown, match=part):
        typescript.run(
            "swap", _camel(case.request), signer={"never": True},
            options={"url": outside.servers.url, "apiKey": "qs_right",
                     "rpcUrl": outside.servers.rpc_url},
        )  # fmt: skip


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"approval": "max"}, "approval must be exact with batch"),
    ({"batch": False, "batchConversion": "wrap"}, "batchConversion must be"),
    ({"batchConversion": "unwrap"}, "batchConversion must be"),
    ({"batchConversion": "wrap", "sellToken": ROUTER}, "batchConversion must be"),
    ({"batchConversion": "wrap", "sellToken": "ETH"}, "batchConversion must be"),
    ({"batchConversion": "burn"}, "batchConversion must be"),
    ({"sellToken": "ETH", "buyToken": WETH}, "no swap"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG)
def test_a_request_that_means_no_batch_is_refused(
    typescript: TypeScript, outside: Outside, changes: dict[str, Any], words: str
) -> None:
    request = _camel(scenario("").request) | changes
    options = {"url": outside.servers.url, "apiKey": "qs_right", "rpcUrl": outside.servers.rpc_url}
    with pytest.raises(Thrown, match=f"RangeError: .*{words}"):
        typescript.run("swap", request, signer={"never": True}, options=options)


def test_an_unfinished_swap_of_the_pair_comes_first(
    typescript: TypeScript, outside: Outside
) -> None:
    """One that wrapped and was interrupted: another one would sell twice."""
    record = {
        "what": "the wrap", "txHash": "0x" + "ab" * 32, "wallet": WALLET, "nonce": 7,
        "trade": "0x" + "ab" * 32, "sellToken": "ETH", "buyToken": USDC,
        "sellAmount": str(ETHER), "atLeast": "1",
    }  # fmt: skip
    case = scenario("wrap", "swap")
    outside.present, outside.node = FakeService(), FakeChain()
    for prepare in case.prepare:
        prepare(outside.node, outside.present)
    options = {
        "url": outside.servers.url, "apiKey": "qs_right", "rpcUrl": outside.servers.rpc_url,
        "orders": {record["txHash"]: record},
    }  # fmt: skip
    with pytest.raises(Thrown, match="UnfinishedTrade"):
        typescript.run("swap", _camel(case.request), signer={"never": True}, options=options)


@pytest.mark.parametrize("moment", ["batch signed", "submitted", "batch mined"])
@pytest.mark.parametrize("kind", CONVERTING)
def test_a_killed_batch_with_ether_is_told_and_not_made_twice(
    typescript: TypeScript, outside: Outside, kind: str, moment: str
) -> None:
    """It is recorded before it is submitted, so the same call is refused until its end was told."""
    case = scenario(kind, "swap")
    outside.present, outside.node = service, chain = FakeService(), FakeChain()
    service.mines = chain.mine
    for prepare in case.prepare:
        prepare(chain, service)
    request = _camel(case.request)
    options = {
        "url": outside.servers.url, "apiKey": "qs_right", "rpcUrl": outside.servers.rpc_url,
        "orders": {}, "polling": {"doubtS": 0, "patienceS": 60},
    }  # fmt: skip

    def run(method: str, argument: Any, **command: Any) -> dict[str, Any]:
        try:
            ran = typescript.run(method, argument, options=options, signer={"key": KEY}, **command)
        except Thrown as thrown:
            options["orders"] = thrown.fields["orders"]
            raise
        options["orders"] = ran["orders"]
        result: dict[str, Any] = ran["result"]
        return result

    with pytest.raises(Thrown, match="killed"):
        run("swap", request, dies=moment)
    with pytest.raises(Thrown, match="UnfinishedTrade") as refused:
        run("swap", request)
    if moment == "batch signed":
        assert service.bodies("order") == []
        return
    result = run("resume", refused.value.fields["trade"])
    assert (result["succeeded"], result["mined"]) == (True, ["batch"])
    assert len(service.bodies("order")) == 1
