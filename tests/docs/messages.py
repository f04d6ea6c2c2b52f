"""What docs/messages.md is made of: an input, and the message it leads to."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

ABSENT: Final = object()
_LONG = 100
_VOLATILE = (
    (r"0x[0-9a-fA-F]{65,}", "<hex>"),
    (r"0x[0-9a-fA-F]{64}", "<hash>"),
    (r"\b(ord|cnl|apr|req|whk|rpc|key|cli|qsk|qr|qs|whsec)_[0-9A-Za-z]{8,}", r"<\1_...>"),
    (r"\bweth_(un)?wrap_\d{13}_[0-9a-z]+", r"<quoteId>"),
    (r"\b(?!1{9}|18446744073709551|10*1\b|9*\b)\d{9,30}(?<!00000)\b", "<number>"),
    (r"(?<=retryAfter: )\d+", "<seconds>"),
    (r"(?<=\"now\": )\d+", "<now>"),
    (r"(<wallet \d+>(?:,|\", \"))0x[0-9a-fA-F]{0,39}(?=\.\.\.|\")", r"\1<cut>"),
    (r"(?<=\")\d+\.\d\d(?=\")|\b\d\d+\.\d\d(?= USD)", "<usd>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r" at 0x[0-9a-f]+", ""),
    (r"/tmp/[\w./-]+", "<file>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{32}\b|(?<=requestId\": \")\w+", "<id>"),
)


@dataclass(frozen=True)
class Said:
    """What was sent, and what was answered; both as the page shows them."""

    sent: str
    answer: str


Sections = dict[str, tuple[str, list[Said]]]
"""Title, introduction and rows."""


def json_text(value: Any) -> str:
    """Return JSON on one line; what was sent at length is cut."""
    text = json.dumps(value, ensure_ascii=False)
    cut = isinstance(value, str | list) and len(text) > _LONG
    return f"{text[:_LONG]}..." if cut else text


def stable(text: str, names: dict[str, str]) -> str:
    """Return a text without what differs from run to run; `names` are texts of this run."""
    for found, name in names.items():
        text = text.replace(found, name)
    for shape, name in _VOLATILE:
        text = re.sub(shape, name, text)
    return text
