"""Runs one scenario with the Python client and with the TypeScript client, and compares them.

Each runs against a service and a node of its own, with pauses that are counted.
"""

import dataclasses
import json
import re
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from eth_account import Account

from quietswap.client import QuietswapClient
from quietswap.client.errors import ApiError, ClientError
from quietswap.client.flows.cancel import CancelRequest
from quietswap.client.flows.finality import SubmittedTransaction
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.swap_plan import SwapPlan
from quietswap.client.flows.wrap import WrapRequest
from quietswap.client.wire import encode
from quietswap.rules.trial.swap_trial import MOST_VIEWS
from tests.api.scripted_use_cases import ROUTER
from tests.client.conftest import Time
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import ETHER, Asked, FakeServers, FakeService, Reply
from tests.typescript.package import Thrown, TypeScript, big

KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
_AMOUNTS = ("sell_amount", "at_least", "max_sell", "max_fee_wei", "most_fee_wei")
_ERROR_FIELDS = ("tx_hash", "nonce", "order_id", "fate", "status", "reference", "chain_id")
_JUDGED = (
    "received", "fate", "succeeded", "may_be_mined", "fell_short", "checked", "cancelled",
    "is_final", "is_contradicted", "confirmed",
)  # fmt: skip
_OF_RECORD = (
    "txHash", "blockNumber", "gasUsed", "effectiveGasPrice", "feePaidWei", "received", "delivered",
)  # fmt: skip
Prepare = Callable[[FakeChain, FakeService], None]


@dataclass(frozen=True)
class Scenario:
    """What a caller asks, and the world that answers.

    `request` has Python's names; its `confirm` is the answer of such a function. `signer` describes
    one that `driver.mjs` makes, too.
    """

    method: str
    request: dict[str, Any]
    prepare: tuple[Prepare, ...] = ()
    node: bool = True
    signer: dict[str, Any] = field(default_factory=lambda: {"key": KEY})
    kind: type[FakeService] = FakeService
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)


class Outside(FakeService):
    """One server for all scenarios, whose service and node are those of the present one.

    A Node process keeps connections: it would take one to a server that is gone for one to another
    server that got the same port.
    """

    def __init__(self) -> None:
        super().__init__()
        self.present = FakeService()
        self.node = FakeChain()
        self.servers = FakeServers(self, self.call)

    def call(self, method: str, params: list[Any]) -> Any:
        """Answer a JSON-RPC call."""
        return self.node(method, params)

    def reply(self, asked: Asked) -> Reply:
        return self.present.reply(asked)


def ends(
    scenario: Scenario, typescript: TypeScript, outside: Outside
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what each client made of the scenario: Python's, and TypeScript's."""
    found = []
    now = int(clock.time())
    for run in (_python, lambda *each: _typescript(typescript, *each)):
        node = FakeChain(allowances={ROUTER.lower(): ETHER}, time=now)
        service = scenario.kind(mines=node.mine, approvals=lambda node=node: len(node.sent))
        for prepare in scenario.prepare:
            prepare(node, service)
        outside.present, outside.node = service, node
        found.append(run(scenario, outside.servers) | _traces(node, service))
    return found[0], found[1]


def _traces(node: FakeChain, service: FakeService) -> dict[str, Any]:
    """Return what the outside saw.

    A trial that is refused in a batch is asked again alone, to the letter: that is one trial. Its
    random words tell it from another one.
    """
    posted = [each.body for each in service.asked if "signedTransaction" in (each.body or {})]
    for body in posted:
        for volatile in ("deadline", "threatAnalysis"):
            body.get("orderParams", {}).pop(volatile, None)
    return {
        "asked": [(each.method, each.path, each.query) for each in service.asked],
        "posted": posted,
        "approvals": node.sent,
        "simulated": [_simulated(*trial) for trial, _ in groupby(node.trials)],
    }


def _simulated(state: dict[str, Any], block: str) -> Any:
    """Return a simulation without what is random in it, addresses in lower case."""
    text = json.dumps((state, block), sort_keys=True).lower()
    for each in state["blockStateCalls"]:
        for name in ("prevRandao", "beaconRoot", "parentBeaconBlockRoot"):
            text = text.replace(each["blockOverrides"].get(name, name).lower(), name)
    first, second = state["blockStateCalls"]
    _, roots = first["stateOverrides"].values()
    text = text.replace(max(roots["stateDiff"].values()).lower(), "beaconRoot")
    views = second["calls"]
    for override in second["stateOverrides"].values():
        balance = override.get("balance", "0x0")
        if _is_plausible(int(balance, 16), views[0]):
            text = text.replace(balance, "balance")
    if len(views) in (7, 9):
        text = text.replace(views[6]["data"][-40:].lower(), "collector")
    return text


def _is_plausible(balance: int, view: dict[str, str]) -> bool:
    """Return whether a balance is one that is drawn for a wallet that pays for such views."""
    needed = MOST_VIEWS * int(view["gas"], 16) * int(view["maxFeePerGas"], 16)
    return needed + ETHER // 1000 <= balance < needed + ETHER // 1000 + ETHER


def _python(scenario: Scenario, servers: FakeServers) -> dict[str, Any]:
    time = Time()
    rpc_url = servers.rpc_url if scenario.node else None
    client = QuietswapClient(
        servers.url, "qs_right", rpc_url=rpc_url, sleep=time.sleep, monotonic=time.monotonic,
        polling=PollingPolicy(),
        orders={name: SubmittedTransaction(**each) for name, each in scenario.orders.items()},
    )  # fmt: skip
    request, signer = dict(scenario.request), _signer(scenario.signer)
    if "confirm" in request:
        answer = request["confirm"]
        request["confirm"] = lambda _, loss: answer
    with client:
        try:
            if scenario.method == "swap":
                result: Any = client.swap(SwapRequest(**request), signer)
            elif scenario.method == "plan":
                plan = client.plan(SwapRequest(**request))
                return {"result": _plan(plan), "pauses": time.pauses}
            elif scenario.method == "cancel":
                result = client.cancel(CancelRequest(**request), signer)
            elif scenario.method in ("end", "follow"):
                result = getattr(client, scenario.method)(**request)
            else:
                result = client.convert(WrapRequest(scenario.method, **request), signer)  # type: ignore[arg-type]
        except ClientError as error:
            return {"error": _error(error), "pauses": time.pauses}
    made = {"status": result.status} if scenario.method == "follow" else _result(result)
    return {"result": made, "pauses": time.pauses}


def _plan(plan: SwapPlan) -> dict[str, Any]:
    """Return what a plan tells before a signature; amounts in wei and smallest units."""
    facts, trial = plan.wallet, plan.trial
    return {
        "params": plan.params.to,
        "steps": list(plan.steps),
        "signatures": plan.signatures,
        "max_gas_cost": plan.max_gas_cost,
        "approvals": [each.amount for each in plan.approvals],
        "approval_gas_wei": plan.approval_gas_wei,
        "conversion": plan.conversion,
        "conversion_gas_wei": plan.conversion_gas_wei,
        "batched": [plan.is_batched, plan.request.batch_conversion, plan.wraps],
        "loss": [plan.loss.level.value, plan.loss.bps],
        "needs_consent": plan.needs_consent,
        "accepted_bps": plan.accepted_bps,
        "wallet": None if facts is None else [getattr(facts, name) for name in facts.__slots__],
        "delivers": None if trial is None else trial.delivers,
        "refusal": None if plan.refusal is None else _error(plan.refusal),
    }


def _typescript_plan(plan: dict[str, Any]) -> dict[str, Any]:
    facts, refusal = plan.get("wallet"), plan.get("refusal")
    told = ("sellBalance", "ether", "allowance", "nextNonce", "usedNonces")
    return {
        "params": plan["quote"]["mevProtection"]["transactionParams"]["to"],
        "steps": plan["steps"],
        "signatures": plan["signatures"],
        "max_gas_cost": plan["maxGasCost"],
        "approvals": [each["amount"] for each in plan["approvals"]],
        "approval_gas_wei": plan["approvalGasWei"],
        "conversion": plan.get("conversion"),
        "conversion_gas_wei": plan["conversionGasWei"],
        "batched": [plan["isBatched"], plan["request"].get("batchConversion"), plan["wraps"]],
        "loss": [plan["loss"]["level"], plan["loss"]["bps"]],
        "needs_consent": plan["needsConsent"],
        "accepted_bps": plan["acceptedBps"],
        "wallet": facts and [facts[name] for name in told],
        "delivers": plan.get("trial", {}).get("delivers"),
        "refusal": refusal and _thrown(refusal["name"], refusal),
    }


def _thrown(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    known = {each: fields.get(_camel_name(each)) for each in _ERROR_FIELDS}
    if name == "ApiError":
        del known["status"]
    known["declined"] = _declined(name, fields["message"])
    return {"name": name, **known, "cause": fields.get("cause")}


def _signer(known: dict[str, Any]) -> Any:
    if "returns" in known:
        return lambda _: known["returns"]
    account = Account.from_key(known["key"])
    if "change" not in known:
        return account
    return lambda tx: bytes(account.sign_transaction(tx | known["change"]).raw_transaction)


def _error(error: ClientError) -> dict[str, Any]:
    found: dict[str, Any] = {"name": _name(error)}
    for name in _ERROR_FIELDS:
        if name != "status" or not isinstance(error, ApiError):
            found[name] = getattr(error, name, None)
    cause = getattr(error, "cause", None)
    found["declined"] = _declined(found["name"], str(error))
    return found | {"cause": _name(cause) if cause else None}


def _declined(name: str, message: str) -> str | None:
    """Return why a quote was declined, before the advice, which names each language's options."""
    plain = re.sub(r" \(--[a-z-]+\)", "", message.partition(":")[0])
    return plain if name == "QuoteDeclined" else None


def _name(error: object) -> str:
    return "ApiError" if isinstance(error, ApiError) else type(error).__name__


def _result(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _JUDGED:
        if hasattr(result, name):
            found[name] = getattr(result, name)
    if hasattr(result, "approvals"):
        found["approvals"] = [each.amount for each in result.approvals]
    if hasattr(result, "status"):
        found["status"] = result.status.status
    if hasattr(result, "received"):
        found["record"] = _shown(result.status)
    if hasattr(result, "record"):
        found["status"], found["record"] = result.record.status, _shown(result.own_record)
    elif hasattr(result, "receipt"):
        found["mined"] = result.receipt and result.receipt.transaction_hash
    return found


def _shown(record: Any) -> dict[str, Any]:
    """Return what a record says of block, gas and amounts, by the own node or by the service."""
    members = record if isinstance(record, dict) else json.loads(encode(record))
    terms = {name: str(value) for name, value in members["orderParams"].items()}
    return terms | {name: str(members.get(name)) for name in _OF_RECORD}


def _typescript(typescript: TypeScript, scenario: Scenario, servers: FakeServers) -> dict[str, Any]:
    orders = {name: _camel(each) for name, each in scenario.orders.items()}
    for name, sent in scenario.orders.items():
        orders[name]["sellAmount"] = str(sent.get("sell_amount", 0))
    options: dict[str, Any] = {"url": servers.url, "apiKey": "qs_right", "orders": orders}
    if scenario.node:
        options["rpcUrl"] = servers.rpc_url
    request = _camel(scenario.request)
    conditions = {}
    args: list[Any] = [request]
    if scenario.method in ("end", "follow"):
        args = [request["orderId"]]
    if scenario.method in ("wrap", "unwrap"):
        args = [request.pop("amount")]
        conditions = request
    try:
        found = typescript.run(
            scenario.method,
            *args,
            options=options,
            conditions=conditions,
            signer=None if scenario.method in ("end", "follow", "plan") else scenario.signer,
        )
    except Thrown as thrown:
        error = _thrown(thrown.name, thrown.fields)
        return {"error": error, "pauses": thrown.fields["pauses"]}
    result = found["result"]
    if scenario.method == "plan":
        return {"result": _typescript_plan(result), "pauses": found["pauses"]}
    judged = {
        name: result.get(_camel_name(name))
        for name in _JUDGED
        if _camel_name(name) in result or name in ("received", "fate")
    }
    if scenario.method == "swap":
        judged["record"] = _shown(result["status"])
        judged["approvals"] = [each["amount"] for each in result["approvals"]]
    if scenario.method == "end":
        judged["status"] = result["record"]["status"]
        judged["record"] = _shown(result["ownRecord"])
        del judged["received"]
    elif scenario.method == "follow":
        judged = {"status": result["status"]}
    elif "status" in result:
        judged["status"] = result["status"]["status"]
    if scenario.method in ("wrap", "unwrap"):
        receipt = result.get("receipt")
        judged = {"mined": receipt and receipt["transactionHash"]}
    if scenario.method == "cancel":
        del judged["received"]
    return {"result": judged, "pauses": found["pauses"]}


def _camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _camel(request: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in request.items():
        if value is None and name != "max_fee_wei":
            continue
        is_amount = name in _AMOUNTS and value is not None
        made[_camel_name(name)] = big(value) if is_amount else value
    return made


def but(scenario: Scenario, *prepare: Prepare, **request: Any) -> Scenario:
    """Return a scenario with another world, or another request."""
    return dataclasses.replace(
        scenario, prepare=scenario.prepare + prepare, request=scenario.request | request
    )
