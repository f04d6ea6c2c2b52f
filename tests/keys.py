"""New API keys, made as an operator makes them."""

import json
from collections.abc import Mapping

from tests import forked


def new_key(variables: Mapping[str, str], *options: str) -> str:
    """Run `quietswap keys create` with these environment variables only, and return the key."""
    done = forked.run(["keys", "create", "--json", *options], variables)
    assert done.returncode == 0, done.stderr
    key: str = json.loads(done.stdout)["key"]
    return key
