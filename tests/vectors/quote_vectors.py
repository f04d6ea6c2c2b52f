"""What the Python client makes of each quote of `quote_cases`, as a file for both clients.

The client's own flow judges: a quote is accepted if `accept` is asked.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec

from quietswap.client.api_calls import ApiCall, read_answer
from quietswap.client.errors import ClientError, NodeRpcError, UnexpectedResponse
from quietswap.client.flows import cancel, swap, wrap
from quietswap.client.flows.cancel import CancelRequest
from quietswap.client.flows.effects import ClockReading, Effect, Flow, ReadClock, Sleep, run
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.wrap import WrapRequest
from quietswap.client.node_calls import NodeBatch, NodeCall
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from tests.client.fake_chain import PRICES, FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import placed
from tests.client.fake_usage import usage_answer
from tests.response_json import orders
from tests.stored_orders import recorded
from tests.vectors.quote_cases import ORDER, Case, builtins, cases, honest

_ADVICE = (
    "; 0x is only taken", " (--rpc-url)", ": not signed", ": give at_least",
    ": sell less",
)  # fmt: skip
"""Where the advice of a message begins: it names options, which each language spells in its way."""
_NOW_S = 1_800_000_000
_DEPLOYER = {"0x6352211e": 0, "0xe2603dc2": 1}


def vectors() -> dict[str, Any]:
    """Return all cases as JSON.

    `bases` are honest answers. The answer of a case is its base with `changes`, by path, and
    without the paths of `removed`. `expected` is error and reason, or null if it is accepted.
    """
    bases = honest()
    rows = []
    for case in cases():
        changes: dict[str, Any] = {}
        removed: list[str] = []
        _compare(bases[case.flow], case.answer, "", changes, removed)
        rows.append(
            {
                "name": case.name,
                "flow": case.flow,
                "request": case.request,
                "changes": changes,
                "removed": removed,
                "node": case.node,
                "settlers": list(case.settlers),
                "prices": case.prices,
                "expected": expected(case),
            }
        )
    return {"bases": bases, "status": status_answer(), "cases": rows}


def _compare(
    base: dict[str, Any],
    other: dict[str, Any],
    at: str,
    changes: dict[str, Any],
    removed: list[str],
) -> None:
    for name in sorted(base.keys() | other.keys()):
        path = f"{at}{name}"
        if name not in other:
            removed.append(path)
        elif isinstance(base.get(name), dict) and isinstance(other[name], dict):
            _compare(base[name], other[name], f"{path}.", changes, removed)
        elif name not in base or base[name] != other[name]:
            changes[path] = other[name]


def text() -> str:
    """Return the file, one case a line."""
    found = vectors()
    cases = ",\n".join(json.dumps(each, sort_keys=True) for each in found["cases"])
    bases, status = (json.dumps(found[name], sort_keys=True) for name in ("bases", "status"))
    return f'{{"bases": {bases},\n"status": {status},\n"cases": [\n{cases}\n]}}\n'


class Accepted(Exception):
    """Raised when `accept` is asked: every check before it has passed."""


def expected(case: Case) -> dict[str, str] | None:
    """Return error class and reason; None if the quote is accepted."""
    try:
        run(_flow(case), _Performer(case).perform)
    except Accepted:
        return None
    except ClientError as error:
        unreadable = isinstance(error, UnexpectedResponse)  # its text is msgspec's
        return {
            "error": type(error).__name__,
            "reason": "" if unreadable else reason(str(error)),
        }
    raise AssertionError(f"{case.name}: neither accepted nor refused")


def reason(message: str) -> str:
    """Return a message without advice."""
    message = message.replace("`rpc_url` (--rpc-url)", "`rpcUrl`").replace("None", "null")
    for advice in _ADVICE:
        message = message.split(advice)[0]
    return message


def ignore(_: object) -> None:
    """Watch nothing."""


def _flow(case: Case) -> Flow[Any]:
    def accept(_: object) -> bool:
        raise Accepted

    def never(_: object) -> str:
        raise AssertionError("asked to sign")

    polling, known = PollingPolicy(), dict(case.request)
    if case.flow == "swap":
        swapping = SwapRequest(**known, accept=accept)
        return swap.swap(swapping, never, polling, ignore, {}, has_node=case.node)
    if case.flow == "wrap":
        wrapping = WrapRequest(**known, accept=accept)
        return wrap.convert(wrapping, never, polling, ignore, has_node=case.node)
    cancelling = CancelRequest(**known, accept=accept)
    return cancel.cancel(cancelling, never, polling, ignore, {}, has_node=case.node)


class _Unlimited(dict[str, int]):
    """Allowances of a wallet that approved each router, so that only the quote is judged."""

    def get(self, *_: object) -> int:  # type: ignore[override]
        return 2**255


@dataclass
class _Performer:
    """Answers each request of a flow with the case's quote, and each call with those of a node."""

    case: Case
    node: FakeChain = field(init=False)

    def __post_init__(self) -> None:
        prices = PRICES if self.case.prices else {}
        self.node = FakeChain(allowances=_Unlimited(), prices=dict(prices), time=_NOW_S)

    def perform(self, effect: Effect) -> Any:
        if isinstance(effect, ReadClock):
            return ClockReading(0.0, _NOW_S * 1000)
        if isinstance(effect, ApiCall):
            data = self.case.answer
            if effect.path.endswith(ORDER):
                data = status_answer()
            elif effect.path.endswith("/usage"):
                data = usage_answer()
            elif "/user/" in effect.path:
                data = orders.order_history_response(OrderPage((), 0), 200, 0)
            body = msgspec.json.encode({"ok": True, "data": data})
            return read_answer(effect, 200, body)
        if isinstance(effect, NodeBatch):
            return tuple(call.read(msgspec.json.encode(self._call(call))) for call in effect.calls)
        if isinstance(effect, NodeCall):
            return effect.read(msgspec.json.encode(self._call(effect)))
        assert isinstance(effect, Sleep)
        return None

    def _call(self, call: NodeCall[Any]) -> Any:
        selector = call.params[0]["data"][:10] if call.method == "eth_call" else ""
        if selector not in _DEPLOYER:
            try:
                return self.node(call.method, list(call.params))
            except NodeSays as error:
                raise NodeRpcError(call.method, 3, str(error)) from None
        named = self.case.settlers[_DEPLOYER[selector] :][:1]
        if not named:
            raise NodeRpcError(call.method, 3, "execution reverted")
        return "0x" + named[0][2:].lower().rjust(64, "0")


def status_answer() -> dict[str, Any]:
    """Return the status of the order to cancel."""
    return builtins(orders.order_status_response(recorded(placed(OrderStatus.SUBMITTED))))
