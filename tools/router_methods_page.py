"""What each router method enforces: a part of docs/security.md, and the table as JSON."""

import json
from collections.abc import Iterator
from dataclasses import asdict

from quietswap.rules.routers.known_pools import V2_FACTORIES, V3_FACTORY, V3_FEES
from quietswap.rules.routers.method import CalldataLayout, RouterMethod
from quietswap.rules.safety.methods import METHODS, ROUTERS


def parts() -> dict[str, str]:
    """Return the part of the page."""
    return {"methods": "".join(_methods())}


def data() -> str:
    """Return the table as JSON: one object a row, numbers of words as in `Layout`."""
    rows = []
    for (router, _), row in METHODS.items():
        found = {"router": router} | asdict(row)
        if found["layout"] is not None:
            # as text: a mask has more bits than a JSON number keeps
            found["layout"]["allowed_flags"] = hex(found["layout"]["allowed_flags"])
        rows.append(found)
    factories = [
        {"name": f.name, "address": f.address, "codeHash": "0x" + f.code_hash.hex()}
        for f in (*V2_FACTORIES, V3_FACTORY)
    ]
    whole = {"routers": ROUTERS, "factories": factories, "v3Fees": V3_FEES, "methods": rows}
    return json.dumps(whole, indent=1) + "\n"


def _methods() -> Iterator[str]:
    for router, name in ROUTERS.items():
        rows = [row for (at, _), row in METHODS.items() if at == router]
        yield f"\n### {name}\n\n`{router}`\n\n"
        bound = [row for row in rows if row.layout is not None]
        yield "| method | where the terms are | what enforces them | refused | measured at |\n"
        yield "|---|---|---|---|---|\n"
        yield from (_bound(row) for row in bound)
        yield from (f"\nSource: {text}.\n" for text in _sources(bound))
        refused = [row for row in rows if row.layout is None]
        if refused:
            yield "\nAlways refused:\n\n| method | because |\n|---|---|\n"
            yield from (f"| `{row.name}` `{row.selector}` | {row.refuses} |\n" for row in refused)


def _bound(row: RouterMethod) -> str:
    assert row.layout is not None
    measured = "the router" if row.measure == "self" else "the recipient"
    cells = (
        f"`{row.name}` `{row.selector}`",
        _terms(row, row.layout),
        row.enforced_by,
        row.refuses,
        measured,
    )
    return f"| {' | '.join(cells)} |\n"


def _terms(row: RouterMethod, layout: CalldataLayout) -> str:
    if layout.deadline is not None:
        return (
            f"deadline {layout.deadline} of the call; words sell {layout.sell}, buy {layout.buy},"
            f" amount {layout.amount}, minimum {layout.minimum}, recipient {layout.recipient} of"
            " exactInputSingle, and the same terms of the other calls within"
        )
    if row.nested:
        return (
            f"sold {layout.sell}, amount {layout.amount} of the call; recipient"
            f" {layout.recipient}, bought {layout.buy}, minimum {layout.minimum} of `{row.nested}`"
        )
    fields = ("sell", "buy", "amount", "minimum", "quoted", "recipient", "flags", "pools", "dex")
    named = [f"{name} {at}" for name in fields if (at := getattr(layout, name)) is not None]
    where = ""
    if layout.within:
        path = ", there ".join(f"word {index}" for index in layout.within)
        where = f" of the struct at {path}"
    outside = [
        f"{name} {at}"
        for name in ("partner", "permit", "wrap")
        if (at := getattr(layout, name)) is not None
    ]
    beside = f"; {', '.join(outside)}" + (" there" if layout.permit_within else "")
    return f"words {', '.join(named)}{where}" + (beside if outside else "")


def _sources(rows: list[RouterMethod]) -> list[str]:
    return list(dict.fromkeys(f"<{row.source}> ({row.confidence.value})" for row in rows))
