"""How many recorded answers of each vendor the table of router methods lets pass.

A body counts where it holds a transaction. Those of other chains are judged as if they were of
mainnet: their routers stand at the same addresses.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quietswap.chain.address import BadAddress, from_any_case
from quietswap.routers.calldata import MalformedCalldata, UnboundCalldata, decode
from quietswap.routers.methods import ROUTERS
from quietswap.vendors import zeroex

FIGURES = Path(__file__).parent / "recorded_figures.json"
VENDORS = ("kyberswap", "velora", "sushi", "openocean", "zeroex", "oneinch")


def figures(folder: Path) -> dict[str, dict[str, int]]:
    """Return verdicts and their numbers by vendor."""
    found: dict[str, Counter[str]] = {vendor: Counter() for vendor in VENDORS}
    for path in sorted(folder.glob("*.json")):
        vendor = path.stem.split("-")[0]
        if vendor in found:
            bodies = _transactions(json.loads(path.read_text("utf-8")))
            found[vendor].update(_verdict(to, data) for to, data in bodies)
    return {vendor: dict(sorted(counted.items())) for vendor, counted in found.items()}


def _transactions(body: Any) -> Iterator[tuple[str, str]]:
    if isinstance(body, list):
        for entry in body:
            yield from _transactions(entry)
    if not isinstance(body, dict):
        return
    data, to = body.get("data"), body.get("to") or body.get("routerAddress")
    if isinstance(data, str) and data.startswith("0x") and isinstance(to, str):
        yield to, data
    for entry in body.values():
        yield from _transactions(entry)


def _verdict(to: str, data: str) -> str:
    try:
        router, raw = from_any_case(to), bytes.fromhex(data[2:])
    except (BadAddress, ValueError):
        return "cut by whoever published it"
    if router not in ROUTERS:
        return "to another router than today's"
    try:
        decode(router, raw)
    except MalformedCalldata:
        return "malformed"
    except UnboundCalldata as error:
        return f"refused: {error}"
    return "bound, if its Settler is genuine" if router == zeroex.ROUTER else "bound"
