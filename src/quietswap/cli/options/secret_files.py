"""Reading a secret from a file: an API key or a password."""

import stat
from pathlib import Path

import click

_MOST_BYTES = 64 * 1024


def read_secret(file: Path, what: str) -> str:
    """Return a file's content without the final newline. Warn if other users can read the file.

    Raises click.UsageError if it cannot be read as text.
    """
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES).decode("utf-8").rstrip("\r\n")
        is_open = bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror or "unreadable" if isinstance(error, OSError) else "it is not text"
        raise click.UsageError(f"the {what} cannot be read from {file}: {reason}") from None
    if is_open:
        click.echo(f"careful: others can read {file}; chmod 600 {file}", err=True)
    return text
