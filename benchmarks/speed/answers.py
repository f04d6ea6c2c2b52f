"""Answers of the sandbox's venues, grown to the size and nesting of the vendors' real ones.

A real answer splits a large swap over many pools: its calldata has up to 17 KB, and each pool is
listed in the vendor's own nesting. The calldata still executes: the further bytes follow the
executor's plan, which the router hands on and the executor ignores.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from hashlib import blake2b
from typing import Any

from eth_abi import grammar
from eth_abi.abi import decode

from quietswap.sandbox.contracts import abi
from quietswap.sandbox.vendors.kyberswap import KYBERSWAP_SWAP
from quietswap.sandbox.vendors.openocean import OPENOCEAN_SWAP
from quietswap.sandbox.vendors.sushi import SUSHI_SNWAP
from quietswap.sandbox.vendors.velora import VELORA_SWAP

_LEG_BYTES = 600
"""Calldata for each pool of a route: an answer of Velora's with two pools has 1 252 bytes."""
_LEG_GAS = 90_000
_DEXES = 40
"""Exchanges that OpenOcean lists beside the route."""
_EXCHANGES_A_SWAP = 4
_CALL_BYTES = "callBytes(bytes)"
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}(?![0-9a-fA-F])")
_LAYOUTS = {
    "kyberswap": KYBERSWAP_SWAP,
    "velora": VELORA_SWAP,
    "sushi": SUSHI_SNWAP,
    "openocean": OPENOCEAN_SWAP,
}

Json = dict[str, Any]


def grown(source: str, body: str, length: int) -> str:
    """Return an answer with about `length` bytes of calldata and a leg for each 600 of them.

    Addresses are in lower case, so that they can be replaced.
    """
    answer: Json = json.loads(body)
    holder = _CALLDATA[source](answer)
    if holder is not None:
        data = bytes.fromhex(holder["data"][2:])
        holder["data"] = "0x" + lengthened(source, data, length).hex()
    legs = max(length // _LEG_BYTES, 1)
    _NESTING[source](answer, legs)
    for place in _GAS[source](answer):
        for name in _GAS_FIELDS & place.keys():
            place[name] = type(place[name])(int(place[name]) + (legs - 1) * _LEG_GAS)
    text = json.dumps(answer, separators=(",", ":"))
    return _ADDRESS.sub(lambda found: found[0].lower(), text)


def lengthened(source: str, data: bytes, length: int) -> bytes:
    """Return calldata of a vendor's router with further bytes behind the executor's plan.

    It has `length` bytes, up to the next word. Calldata that is longer already is not changed.
    """
    signature = _LAYOUTS[source]
    values = _decoded(signature, data)
    more = _words(max(length - len(data), 0) // 32)
    match source:
        case "kyberswap":
            [(executor, approved, plan, description, rest)] = values
            values = [(executor, approved, plan + more, description, rest)]
        case "openocean":
            *before, [(target, gas, value, plan)] = values
            values = [*before, [(target, gas, value, plan + more)]]
        case "sushi":
            *before, work = values
            [plan] = _decoded(_CALL_BYTES, work)
            values = [*before, abi.call(_CALL_BYTES, plan + more)]
        case _:
            *before, plan = values
            values = [*before, plan + more]
    return abi.call(signature, *values)


def _decoded(signature: str, data: bytes) -> list[Any]:
    parsed: Any = grammar.parse(signature[signature.index("(") :])
    return list(decode([one.to_type_str() for one in parsed.components], data[4:]))


def _words(count: int) -> bytes:
    """Return words that look like those of a route: addresses, one in each."""
    digests = (blake2b(n.to_bytes(4), digest_size=20).digest() for n in range(count))
    return b"".join(bytes(12) + digest for digest in digests)


def _kyberswap(answer: Json, legs: int) -> None:
    summary = answer["data"].get("routeSummary")
    if summary is None:
        return  # a built route lists no pools
    [path] = summary["route"]
    for hop in path:
        hop["poolExtra"] = {"type": hop["poolType"], "swapFee": 500, "priceLimit": "1461446703485"}
        hop["extra"] = {"amountIn": hop["swapAmount"], "filledOrders": [], "nSqrtRx96": "1" * 29}
    summary["route"] = [
        [hop | {"swapAmount": part, "amountOut": out} for hop in deepcopy(path)]
        for part, out in zip(
            _parts(path[0]["swapAmount"], legs), _parts(path[-1]["amountOut"], legs), strict=True
        )
    ]


def _velora(answer: Json, legs: int) -> None:
    route = answer["priceRoute"]
    [leg] = route["bestRoute"]
    for swap in leg["swaps"]:
        [exchange] = swap["swapExchanges"]
        step = {
            "tokenIn": swap["srcToken"], "tokenOut": swap["destToken"],
            "fee": "100", "currentFee": "80", "tickSpacing": "1",
        }  # fmt: skip
        exchange["data"] = {"path": [step], "gasUSD": "0.000859"}
        at_once = min(legs, _EXCHANGES_A_SWAP)
        swap["swapExchanges"] = [
            exchange | {"percent": 100 // at_once, "srcAmount": part}
            for part in _parts(exchange["srcAmount"], at_once)
        ]
    paths = -(-legs // _EXCHANGES_A_SWAP)
    route["bestRoute"] = [deepcopy(leg) | {"percent": 100 / paths} for _ in range(paths)]


def _openocean(answer: Json, legs: int) -> None:
    data = answer["data"]
    [route] = data["path"]["routes"]
    data["path"] |= {
        "parts": legs,
        "routes": [deepcopy(route) | {"percentage": 100 / legs} for _ in range(legs)],
    }
    [first] = data["dexes"]
    others = [
        {"dexIndex": place, "dexCode": f"Exchange{place}", "swapAmount": first["swapAmount"]}
        for place in range(1, _DEXES)
    ]
    data["dexes"] = [first, *others]


def _sushi(_: Json, __: int) -> None:
    """Sushi lists tokens only."""


def _parts(amount: str, count: int) -> Sequence[str]:
    """Return `count` parts of an amount, the largest first, that add up to it."""
    part = int(amount) // count
    return [str(int(amount) - part * (count - 1)), *[str(part)] * (count - 1)]


_CALLDATA: Mapping[str, Callable[[Json], Json | None]] = {
    "kyberswap": lambda answer: answer["data"] if "data" in answer["data"] else None,
    "velora": lambda answer: answer["txParams"],
    "sushi": lambda answer: answer["tx"],
    "openocean": lambda answer: answer["data"],
}
"""Returns the member that has the calldata; None for an answer without."""
_GAS_FIELDS = {"gas", "gasCost", "gasSpent", "estimatedGas"}
_GAS: Mapping[str, Callable[[Json], Sequence[Json]]] = {
    "kyberswap": lambda answer: [answer["data"], answer["data"].get("routeSummary", {})],
    "velora": lambda answer: [answer["priceRoute"]],
    "sushi": lambda answer: [answer],
    "openocean": lambda answer: [answer["data"]],
}
"""Returns the members that have an estimate of the gas, which grows with the legs."""
_NESTING: Mapping[str, Callable[[Json, int], None]] = {
    "kyberswap": _kyberswap,
    "velora": _velora,
    "sushi": _sushi,
    "openocean": _openocean,
}
