"""A field is declared once: one added line in the contract reaches service, document and client.

The test adds two lines to a copy of the package and looks at what a process sees that imports it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ANSWER = """
import asyncio, json, httpx, quietswap
from quietswap.service.server.app import create_api
from quietswap.service.api.operation import ApiOptions
from quietswap.client import SwapRequest, api_calls
from quietswap.rules.contract.quotes import SwapQuoteResponse
from tests.api import requests
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases
from tests import loopback

clock = HandClock()
app = create_api(ScriptedUseCases(clock).use_cases(), ApiOptions(), clock)

async def ask():
    transport = httpx.ASGITransport(app=app)
    headers = {"X-API-Key": SECRET}
    async with loopback.AsyncClient(transport=transport, base_url="http://a", headers=headers) as c:
        document = (await c.get("/openapi.json")).json()
        page = (await c.get("/docs")).text
        quote = await c.get(requests.QUOTE, params=requests.quote_query())
        return document, page, quote, await c.post(requests.WRAP_QUOTE, json=BODY)

BODY = requests.wrap_quote_body(addedWord=5)
document, page, quote, wrap = asyncio.run(ask())
call = SwapRequest("", "", 1, "").call()
body = quote.content.replace(b'"as served"', b'"as received"')
client = api_calls.read_answer(call, 200, body)
schemas = document["components"]["schemas"]
ADDED = {"SwapQuoteResponse": "addedNote", "WrapQuoteBody": "addedWord"}
print(json.dumps({
    "package": quietswap.__file__,
    "type": SwapQuoteResponse.__annotations__.keys() & {"added_note"} != set(),
    "answer": quote.json()["data"].get("addedNote"),
    "documented": [schemas[kind]["properties"].get(name) for kind, name in ADDED.items()],
    "required": [name in schemas[kind]["required"] for kind, name in ADDED.items()],
    "page": [name in page for name in ADDED.values()],
    "client": getattr(client, "added_note", None),
    "rejected": wrap.json().get("details"),
}))
"""


LINES = {
    "quotes.py": (
        '    """Swap quote, valid for about 30 seconds."""\n',
        '    added_note: Annotated[str, doc("A note for people", "hello")] = "as served"\n',
    ),
    "requests.py": (
        '    """Body of POST /api/v1/mev/wrap/quote."""\n',
        '    added_word: Annotated[str | None, doc("A note for people", "hello")] = None\n',
    ),
}
"""A member of an answer and one of a body: the module of the contract, after what, the line."""


def seen(folder: Path, *, added: bool) -> dict[str, Any]:
    """Return what a process sees of a copy of the package, to which LINES are added or not."""
    copy = folder / "quietswap"
    shutil.copytree(ROOT / "src" / "quietswap", copy)  # with what is compiled already
    for module, (after, line) in LINES.items():
        path = copy / "rules" / "contract" / module
        text = path.read_text("utf-8")
        assert text.count(after) == 1
        if added:
            path.write_text(text.replace(after, after + line), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ANSWER],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert Path(found["package"]).is_relative_to(folder)
    return found


@pytest.mark.parametrize("added", [True, False], ids=["added", "unchanged"])
def test_a_field_of_an_answer_or_a_body_is_declared_once(tmp_path: Path, added: bool) -> None:
    found = seen(tmp_path, added=added)
    documented = {"type": "string", "description": "A note for people", "examples": ["hello"]}
    fault = {"field": "addedWord", "expected": "string", "provided": "number"}
    assert found["type"] is added
    assert found["answer"] == ("as served" if added else None)
    assert found["documented"] == [documented if added else None] * 2
    assert found["required"] == [added, False]
    assert found["page"] == [added, added]
    assert found["client"] == ("as received" if added else None)
    assert found["rejected"] == ({"reason": "MALFORMED", "fields": [fault]} if added else None)
