"""The audit file says in words why an action failed."""

import json
from pathlib import Path

import click
import pytest

from quietswap.cli.options.audit_log import recorded_in_audit_log


def test_a_failed_action_has_its_reason(tmp_path: Path) -> None:
    file, log = tmp_path / "own.toml", tmp_path / "audit.jsonl"
    file.write_text(f'[observe]\naudit_file = "{log}"\n', "utf-8")
    said = "there is no live key key_1"
    with (
        pytest.raises(click.ClickException),
        recorded_in_audit_log(file, "key_revoked", key="key_1"),
    ):
        raise click.ClickException(said)
    [line] = map(json.loads, log.read_text("utf-8").splitlines())
    assert (line["outcome"], line["reason"], line["key"]) == ("failed", said, "key_1")
