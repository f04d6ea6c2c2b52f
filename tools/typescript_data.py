"""Write what the TypeScript client shares with the Python client: data, types and vectors.

- `src/generated/rules.ts`: router methods, factories, price feeds, limits and error codes, from the
  Python tables that the Python client reads.
- `src/generated/shapes.ts`: the members of each answer, from the Structs by which the Python client
  reads them.
- `src/generated/openapi.ts`: the types of the OpenAPI document, by openapi-typescript.
- `tests/vectors/quotes.json`: quotes, with what the Python client makes of them.

A test compares all of them with the files.
"""

import dataclasses
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import msgspec.inspect

from quietswap.client import number_limits
from quietswap.client.errors import ERROR_CLASSES
from quietswap.client.flows import approvals, cancel, quote_checks, quoting, swap_plan
from quietswap.rules.contract import (
    clients,
    errors,
    exports,
    orders,
    quotes,
    tokens,
    webhooks,
    wraps,
)
from quietswap.rules.quotes.quote import FEE_MAY_RISE
from quietswap.rules.routers import batch, settlers
from quietswap.rules.routers.feeds import REFERENCE_FEEDS
from quietswap.rules.routers.known_pools import V2_FACTORIES, V3_FACTORY, V3_FEES
from quietswap.rules.routers.method import CalldataLayout, Measure, RouterMethod
from quietswap.rules.safety import loss
from quietswap.rules.safety.methods import METHODS, ROUTERS
from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.token import WETH, WITHOUT_TRANSFER_FEE, WrapOperation
from quietswap.rules.trial import verdict
from quietswap.rules.trial.codec import VIEW_GAS
from quietswap.rules.trial.next_block import SLOT_S
from quietswap.rules.trial.swap_trial import MOST_VIEWS
from quietswap.rules.tx import fees
from quietswap.rules.tx.signed import GAS_LIMIT_CAP
from quietswap.rules.vendors import VENDORS
from quietswap.rules.wire import MAX_SAFE_INTEGER, WireAmount, WireFigure
from quietswap.service.server.openapi import document
from tests.vectors import quote_vectors

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "clients" / "typescript"
RULES = PACKAGE / "src" / "generated" / "rules.ts"
SHAPES = PACKAGE / "src" / "generated" / "shapes.ts"
TYPES = PACKAGE / "src" / "generated" / "openapi.ts"
VECTORS = ROOT / "tests" / "vectors" / "quotes.json"
_HEAD = (
    "// Made by tools/typescript_data.py from the tables of the Python package: do not edit.\n"
    'import type { Router } from "../method-row.js";\n'
)


def rules() -> str:
    """Return the text of `rules.ts`."""
    return _HEAD + "".join(_parts())


def _parts() -> Iterator[str]:
    yield _routers()
    titles = {name: vendor.title for name, vendor in VENDORS.items()}
    yield _constant("SOURCES", "Sources as people read them.", titles)
    yield _constant("V2_FACTORIES", "Factories of pairs: address and hash of the creation code.", [
        [each.address.lower(), "0x" + each.code_hash.hex()] for each in V2_FACTORIES
    ])  # fmt: skip
    factory = [V3_FACTORY.address.lower(), "0x" + V3_FACTORY.code_hash.hex()]
    yield _constant("V3_FACTORY", "Uniswap V3's factory, in the same form.", factory)
    yield _constant("V3_FEES", "Its fee tiers, in hundredths of a bps.", V3_FEES)
    feeds = {
        token.lower(): [feed.address.lower(), feed.heartbeat_s]
        for token, feed in REFERENCE_FEEDS.items()
    }
    yield _constant(
        "PRICE_FEEDS", "Chainlink's USD feed of a token, and its heartbeat in s.", feeds
    )
    yield _constant("WETH", "Canonical WETH9 on Ethereum mainnet.", str(WETH))
    free = sorted(token.lower() for token in WITHOUT_TRANSFER_FEE - {WETH})
    text = _constant("WITHOUT_TRANSFER_FEE", "Tokens whose code has no fee on transfer.", free)
    yield text.replace("\n]", ",\n  WETH\n]")
    about = "The note of a quote whose minimum a fee of the token could lower."
    yield _constant("FEE_MAY_RISE", about, FEE_MAY_RISE)
    transient = sorted(code for code, kind in ERROR_CLASSES.items() if kind.is_transient)
    yield _constant("TRANSIENT", "Codes after which the same request may succeed.", transient)
    yield _constant("SETTLERS", "0x's Deployer, and the two calls that name its Settlers.", [
        settlers.DEPLOYER.lower(), "0x" + settlers.OWNER_OF.hex(), "0x" + settlers.PREV.hex(),
    ])  # fmt: skip
    selectors = {kind: "0x" + erc20.calldata(kind, 0)[:4].hex() for kind in WrapOperation}
    yield _constant("WRAP_SELECTORS", "The calls of WETH9 that convert.", selectors)
    delegates = [each.lower() for each in batch.DELEGATES]
    about = "Code that was read, to which a wallet that batches may be delegated."
    yield _constant("DELEGATES", about, delegates)
    bps = {
        "NOTICE": loss.NOTICE_BPS,
        "CONFIRM": loss.CONFIRM_BPS,
        "TYPE": loss.TYPE_BPS,
        "GAS": loss.GAS_BPS,
    }
    yield _constant("LOSS_BPS", "From which loss what is asked; gas counts above its share.", bps)
    words = {cause.value: text for cause, text in loss.WORDS.items()}
    yield _constant("LOSS_WORDS", "Causes of a loss, after the share in percent.", words)
    for name, value in _limits().items():
        yield f"\nexport const {name} = {value};\n"


def _limits() -> dict[str, str]:
    """Return limits as TypeScript: bigint for wei and gas units, numbers for seconds and bytes."""
    units = {
        "GAS_LIMIT_CAP": GAS_LIMIT_CAP,
        "LEAST_GAS": fees.TRANSACTION_GAS,
        "ABSURD_FEE": quote_checks.ABSURD_FEE,
        "MAX_FEE_WEI": quote_checks.MAX_FEE_WEI,
        "FROM_ZERO_GAS": approvals._FROM_ZERO_GAS,
        "FEE_MULTIPLE": quoting._FEE_MULTIPLE,
        "FEE_HEADROOM": quoting._FEE_HEADROOM,
        "CANCEL_GAS": cancel.CANCEL_GAS,
        "MOST_CANCEL_GAS": cancel.MOST_CANCEL_GAS,
        "CANCEL_FEE_WEI": cancel.MOST_FEE_WEI,
        "GAS_MULTIPLE_HALVES": verdict.GAS_MULTIPLE_HALVES,
        "MODEST_GAS": verdict.MODEST_GAS,
        "VIEW_GAS": VIEW_GAS,
        "MOST_VIEWS": MOST_VIEWS,
        "SLOT_S": SLOT_S,
    }
    numbers = {
        "FRESH_S": int(swap_plan.FRESH_S),
        "LEAST_INTERVAL_S": int(number_limits.LEAST_INTERVAL_S),
        "MOST_INTERVAL_S": int(number_limits.MOST_INTERVAL_S),
        "MOST_RETRY_S": int(number_limits.MOST_RETRY_S),
        "MOST_WAIT_S": int(number_limits.MOST_WAIT_S),
        "MAX_BODY": number_limits.MAX_BODY,
        "MAX_LEVELS": number_limits.MAX_LEVELS,
        "MOST_NUMBER_CHARS": number_limits.MOST_NUMBER_CHARS,
        "EXACT_DIGITS": number_limits.EXACT_DIGITS,
    }
    return {name: f"{value}n" for name, value in units.items()} | {
        name: str(value) for name, value in numbers.items()
    }


def _routers() -> str:
    """Return the routers with what each of their methods enforces."""
    text = (
        "\n/**\n * Routers by address in lower case, with what each method enforces. Without"
        "\n * `routers` in a request, only these contracts are approved or called.\n */"
        "\nexport const ROUTERS: Record<string, Router> = {\n"
    )
    for address, name in ROUTERS.items():
        rows = [row for (at, _), row in METHODS.items() if at == address]
        text += f"  {json.dumps(address.lower())}: [\n    {json.dumps(name)},\n    {{\n"
        for row in rows:
            if row.layout is not None:
                text += f"      // {row.name}\n      {json.dumps(row.selector)}: {_layout(row)},\n"
        text += "    },\n    {\n"
        for reason, methods in _refusals(rows).items():
            text += f"      {json.dumps(reason)}:\n        {json.dumps(' '.join(methods))},\n"
        text += "    },\n  ],\n"
    return text + "};\n"


def _refusals(rows: list[RouterMethod]) -> dict[str, list[str]]:
    """Return the methods without a proof, each as selector and name, by their reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.layout is None:
            found.setdefault(row.refuses, []).append(f"{row.selector} {row.name}")
    return found


def _layout(row: RouterMethod) -> str:
    """Return the columns of `Layout` in `method-row.ts`; a default is an empty place."""
    cells = []
    for field in dataclasses.fields(CalldataLayout):
        default = None if field.default is dataclasses.MISSING else field.default
        cells.append(_cell(getattr(row.layout, field.name), default))
    cells[5:5] = [_cell(row.measure is Measure.RECIPIENT, False), _cell(row.nested, "")]
    return f"[{', '.join(cells).rstrip(', ')}]"


def _cell(value: object, default: object) -> str:
    if value == default and type(value) is type(default):
        return ""
    return f"{value:#x}n" if isinstance(value, int) and value >= 2**53 else json.dumps(value)


def _constant(name: str, about: str, value: Any) -> str:
    return f"\n/** {about} */\nexport const {name} = {json.dumps(value, indent=2)} as const;\n"


ANSWERS: tuple[type[msgspec.Struct], ...] = (
    quotes.SwapQuoteEnvelope, quotes.StreamedRoute, orders.SwapOrderEnvelope,
    orders.OrderStatusEnvelope, orders.OrderHistoryEnvelope, orders.CancelQuoteEnvelope,
    orders.CancelOrderEnvelope, wraps.WrapQuoteEnvelope, wraps.WrapOrderEnvelope,
    clients.UsageEnvelope, errors.ErrorEnvelope, webhooks.OrderEventMessage,
    quotes.PriceEnvelope, tokens.TokensEnvelope, tokens.BalancesEnvelope,
    exports.OrderStatsEnvelope, wraps.WrapInfoEnvelope,
)  # fmt: skip
"""What the TypeScript client reads."""


def shapes() -> str:
    """Return the text of `shapes.ts`."""
    members: dict[str, str] = {}
    for kind in ANSWERS:
        _add_shape(msgspec.inspect.type_info(kind), members)
    rows = "".join(f"  {name}:\n    {json.dumps(text)},\n" for name, text in members.items())
    return (
        "// Made by tools/typescript_data.py from the contract of the Python package: do not edit."
        "\n\n/**\n * The members of each answer, as `name:kind`. A name ends in `?` if the member"
        " may be absent, a kind\n * if it may be null; `[]` begins a list, and `|` separates texts."
        "\n */"
        f"\nexport const SHAPES = {{\n{rows}}} as const;\n"
    )


def _add_shape(kind: msgspec.inspect.Type, members: dict[str, str]) -> str:
    """Return the kind of a value in `shapes.ts`, and add the members of its Struct."""
    match kind:
        case msgspec.inspect.StructType():
            name = re.split(r"\W", kind.cls.__name__)[0]
            if name not in members:
                members[name] = ""
                members[name] = " ".join(
                    f"{each.encode_name}{'' if each.required else '?'}:"
                    + _add_shape(each.type, members)
                    for each in kind.fields
                )
            return name
        case msgspec.inspect.UnionType():
            kinds = [each for each in kind.types if not isinstance(each, msgspec.inspect.NoneType)]
            (only,) = kinds
            return _add_shape(only, members) + ("?" if kind.includes_none else "")
        case msgspec.inspect.VarTupleType():
            return "[]" + _add_shape(kind.item_type, members)
        case msgspec.inspect.Metadata():
            return _add_shape(kind.type, members)
        case msgspec.inspect.LiteralType():
            return "|".join(map(str, kind.values))
    return _leaf(kind)


def _leaf(kind: msgspec.inspect.Type) -> str:
    match kind:
        case msgspec.inspect.CustomType():
            return {WireAmount: "amount", WireFigure: "figure"}[kind.cls]
        case msgspec.inspect.IntType():
            limits = {(0, MAX_SAFE_INTEGER): "count", (0, 255): "byte", (None, None): "integer"}
            return limits[kind.ge, kind.le]
        case msgspec.inspect.DictType():
            return "object"
    return {
        msgspec.inspect.StrType: "text",
        msgspec.inspect.BoolType: "truth",
        msgspec.inspect.FloatType: "number",
        msgspec.inspect.DateTimeType: "time",
    }[type(kind)]


def types() -> str:
    """Return the text of `openapi.ts`. Needs the package's Node packages."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "openapi.json"), Path(folder, "openapi.ts")
        source.write_text(json.dumps(document()), "utf-8")
        command = [PACKAGE / "node_modules" / ".bin" / "openapi-typescript", source, "-o", made]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return made.read_text("utf-8")


def main() -> None:
    """Write all files."""
    RULES.parent.mkdir(parents=True, exist_ok=True)
    RULES.write_text(rules(), "utf-8")
    SHAPES.write_text(shapes(), "utf-8")
    TYPES.write_text(types(), "utf-8")
    VECTORS.write_text(quote_vectors.text(), "utf-8")
    print("wrote", *(path.relative_to(ROOT) for path in (RULES, SHAPES, TYPES, VECTORS)))


if __name__ == "__main__":
    main()
