"""Both clients make the same of every quote and of all calldata, honest or hostile."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.safety.calldata import MalformedCalldata, UnboundCalldata, decode
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import uniswap
from tests.client.fake_usage import usage_answer
from tests.example_counts import examples
from tests.hostile.cases import MAKERS, make
from tests.hostile.uniswap_mutants import COUNT, mutants
from tests.typescript.package import TypeScript, big
from tests.vectors import quote_vectors

pytestmark = pytest.mark.xdist_group("typescript")
FILE = Path(quote_vectors.__file__).parent / "quotes.json"


def test_the_file_is_what_the_python_client_makes_of_the_cases() -> None:
    assert FILE.read_text("utf-8") == quote_vectors.text(), "run python -m tools.typescript_data"


def test_the_page_counts_the_cases() -> None:
    page = (FILE.parents[2] / "docs" / "typescript.md").read_text("utf-8")
    assert f"`tests/vectors/quotes.json` | {len(json.loads(FILE.read_bytes())['cases'])} |" in page
    answers = json.loads(FILE.with_name("answers.json").read_bytes())["cases"]
    assert f"`tests/vectors/answers.json` | {len(answers)}, " in page


def test_the_typescript_client_agrees_case_by_case(typescript: TypeScript) -> None:
    file = json.loads(FILE.read_text("utf-8"))
    differing = []
    for case in file["cases"]:
        known = case | {"answer": _answer(file["bases"][case["flow"]], case)}
        known |= {"request": _camel(case["request"]), "status": file["status"]}
        known["usage"] = usage_answer()
        found = typescript.ask("vector", known)
        if found != case["expected"]:
            differing.append((case["name"], case["expected"], found))
    assert not differing, f"{len(differing)} of {len(file['cases'])}: {differing[:3]}"
    assert len(file["cases"]) > 500
    assert {case["expected"] is None for case in file["cases"]} == {True, False}


def _answer(base: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    answer = copy.deepcopy(base)
    for path, value in case["changes"].items():
        inner, last = _inside(answer, path)
        inner[last] = value
    for path in case["removed"]:
        inner, last = _inside(answer, path)
        del inner[last]
    return answer


def _inside(answer: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    *parents, last = path.split(".")
    for parent in parents:
        answer = answer[parent]
    return answer, last


_AMOUNTS = ("sell_amount", "at_least", "max_fee_wei", "most_fee_wei")
_ABSENT = ("nonce",)


def _camel(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request as TypeScript spells it."""
    made = {}
    for name, value in request.items():
        first, *rest = name.split("_")
        if value is None and name in _ABSENT:
            continue
        is_amount = name in _AMOUNTS and value is not None
        made[first + "".join(part.title() for part in rest)] = big(value) if is_amount else value
    return made


def test_both_decode_random_calldata_alike(typescript: TypeScript) -> None:
    """Hostile calldata of every bound method, half of it with bytes changed, words set or cut."""
    drawn = random.Random(1)
    cases: list[tuple[Address, str, Address]] = []
    for method in MAKERS:
        for number in range(examples(600) // len(MAKERS) + 1):
            case = make(method, f"typescript {number}")
            data = case.trade.data
            if number % 2:
                data = _bent(drawn, data)
            cases.append((case.trade.to, "0x" + data.hex(), case.buy))
    found = _both(typescript, cases)
    assert {"refused" in each for each in found} == {True, False}


def test_both_decode_changed_calls_of_uniswaps_router_alike(typescript: TypeScript) -> None:
    """The calldata that `tests/hostile/test_uniswap.py` runs on the router."""
    changed = ((data, buy.address) for data, _, buy, *_ in mutants())
    found = _both(typescript, [(uniswap.ROUTER, "0x" + data.hex(), buy) for data, buy in changed])
    assert len(found) == COUNT
    assert {"refused" in each for each in found} == {True, False}


def _both(
    typescript: TypeScript, cases: list[tuple[Address, str, Address]]
) -> list[dict[str, Any]]:
    """Return what TypeScript decodes, which is what Python decodes."""
    found: list[dict[str, Any]] = typescript.ask("decodeAll", cases)
    differing = [
        (case, wanted, got)
        for case, got in zip(cases, found, strict=True)
        if (wanted := _decoded(*case)) != got
    ]
    assert not differing, f"{len(differing)} of {len(cases)}: {differing[:1]}"
    return found


def _bent(drawn: random.Random, data: bytes) -> bytes:
    kind = drawn.randrange(4)
    at = drawn.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([drawn.randrange(256)]) + data[at + 1 :]
    word = 4 + 32 * drawn.randrange(max((len(data) - 4) // 32, 1))
    value = drawn.choice([0, 1, 2**256 - 1, 2**255, 2**160, 32, len(data) - 4, len(data) - 36])
    if kind == 2:
        return data[:word] + value.to_bytes(32) + data[word + 32 :]
    return data + bytes([drawn.randrange(256)]) * drawn.randrange(1, 40)


def _decoded(router: Address, data: str, buy: Address) -> dict[str, Any]:
    try:
        terms = decode(router, bytes.fromhex(data[2:]), buy_token=buy)
    except UnboundCalldata as error:
        return {"refused": str(error), "isMalformed": isinstance(error, MalformedCalldata)}
    found: dict[str, Any] = {
        "minBuyAmount": terms.min_buy_amount,
        "sellToken": terms.sell_token.lower(),
        "buyToken": terms.buy_token.lower(),
        "sellAmount": terms.sell_amount,
    }
    for name, address in (
        ("recipient", terms.recipient), ("settler", terms.settler), ("pool", terms.pool),
    ):  # fmt: skip
        if address is not None:
            found[name] = address.lower()
    if terms.deadline is not None:
        found["deadline"] = terms.deadline
    return found
