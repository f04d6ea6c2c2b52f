"""How a command ends: exit codes, and one line of JSON for whoever asked for it.

Exit codes: 0 done, 1 refused or failed, 2 usage, 3 unreachable.
"""

import contextlib
import errno
import json
import os
import sys
from collections.abc import Iterator

import click

REFUSED, USAGE, UNREACHABLE = 1, 2, 3
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class NotReached(click.ClickException):
    """Something the command needs does not answer."""

    exit_code = UNREACHABLE


@contextlib.contextmanager
def speaking_json(*, wanted: bool) -> Iterator[None]:
    """Also say on standard output, where `--json` was given, why a command ends early."""
    try:
        yield
    except click.NoSuchOption as error:
        clearer: click.UsageError = error
        if error.option_name[1:2].isdigit():
            text = f"{error.option_name!r} is not an amount: it must be greater than zero"
            clearer = click.UsageError(text, error.ctx)
        _tell("USAGE", clearer.format_message(), wanted=wanted)
        raise clearer from None
    except click.ClickException as error:
        _tell(_code(error), error.format_message(), wanted=wanted)
        raise
    except (click.Abort, KeyboardInterrupt):
        _tell("ABORTED", "stopped; no order was submitted", wanted=wanted)
        raise


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """End in order where standard output takes no more. Raises click.ClickException."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        # what is still buffered would be written, and fail, once more when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.ClickException(f"the output cannot be written: {error.strerror}") from None


def _code(error: click.ClickException) -> str:
    if isinstance(error, click.UsageError):
        return "USAGE"
    return "UNREACHABLE" if error.exit_code == UNREACHABLE else "REFUSED"


def _tell(code: str, message: str, *, wanted: bool) -> None:
    if wanted:
        click.echo(json.dumps({"ok": False, "error": code, "message": message}))
