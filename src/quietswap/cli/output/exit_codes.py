"""Exit codes, and errors as one line of JSON.

Exit codes: 0 done; 1 refused or failed, and 3 unreachable: nothing was done, but for an approval
that is named; 2 usage;
4 the signed transaction may still be mined, or was mined although the service reported a failure:
check before you repeat it; 5 mined, but less than the minimum received.
"""

import contextlib
import json
from collections.abc import Iterator

import click

REFUSED, USAGE, UNREACHABLE, UNDECIDED, SHORT = 1, 2, 3, 4, 5


class DependencyUnreachable(click.ClickException):
    """A dependency of the command does not respond."""

    exit_code = UNREACHABLE


@contextlib.contextmanager
def json_errors(*, wanted: bool) -> Iterator[None]:
    """With `--json`, print the error of a command as JSON on standard output."""
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


def _code(error: click.ClickException) -> str:
    if isinstance(error, click.UsageError):
        return "USAGE"
    return "UNREACHABLE" if error.exit_code == UNREACHABLE else "REFUSED"


def _tell(code: str, message: str, *, wanted: bool) -> None:
    if wanted:
        with contextlib.suppress(OSError):  # the exit code is left
            click.echo(json.dumps({"ok": False, "error": code, "message": message}))
