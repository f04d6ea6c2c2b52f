"""The tables of tests/spec/tables.py against the interface document, where one is at hand."""

import os
import re
from pathlib import Path

import pytest

from tests.spec import tables

_BESIDE = Path(__file__).parents[3] / "shared" / "spec.md"
PLACE = Path(os.environ.get("INTERFACE_DOCUMENT") or _BESIDE)


@pytest.mark.skipif(
    not PLACE.is_file(), reason="INTERFACE_DOCUMENT names no copy of the interface document"
)
def test_every_row_of_the_document_is_in_the_tables() -> None:
    rows = [
        tuple(cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|"))
        for line in PLACE.read_text("utf-8").splitlines()
        if line.startswith("|") and not re.fullmatch(r"[|\- ]+", line)
    ]
    heads = ("Field", "Name", "State", "From", "HTTP", "Limit")
    written = {row[:2] for row in rows if row[0] not in heads}
    known = [*tables.STATES, *tables.TRANSITIONS, *tables.ERRORS, *tables.LIMITS]
    for group in (tables.FIELDS, tables.INPUTS):
        known += [row for table in group.values() for row in table]
    ours = {row[:2] for row in known} | {("userAddress", "path"), ("limit", "query")}
    ours |= {("offset", "query"), ("status", "query")}
    assert sorted(written - ours) == []
