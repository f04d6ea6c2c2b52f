"""New API keys, by the operator's command in this process: a process of its own takes 0.15 s."""

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

from click.testing import CliRunner

from quietswap.cli import command


def new_key(variables: Mapping[str, str], *options: str) -> str:
    """Run `quietswap keys create` with these environment variables only, and return the key.

    In a thread, because the caller's may run an event loop.
    """
    words = ["keys", "create", "--json", *options]
    with patch.dict(os.environ, variables, clear=True), ThreadPoolExecutor(1) as aside:
        done = aside.submit(CliRunner().invoke, command, words).result()
    assert done.exit_code == 0, done.output
    key: str = json.loads(done.stdout)["key"]
    return key
