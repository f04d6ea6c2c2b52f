"""Messages of the client with the names of options, where Python has parameters."""

import re


def in_options(text: str) -> str:
    """Return a message of the client as this command spells things: options, no parameters.

    `max_fee_wei (--max-fee)` serves callers in Python, too.
    """
    text = re.sub(r"`?\b[a-z]+(?:_[a-z]+)*`? \((--[a-z-]+)\)", r"\1", text)
    text = re.sub(r" \(`[a-z_]+` in Python\)", "", text)
    return re.sub(r"^(?:url|rpc_url|ca_file)(?= )", lambda name: _option(name[0]), text)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
