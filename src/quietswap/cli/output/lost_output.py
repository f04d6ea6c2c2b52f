"""The two outputs of a command: no control character reaches them, and a failed write is told.

Text of a service, a node, a database or an exception is written with visible escapes, whoever
writes it: a command, click, or Python's traceback. Only the console's own styles pass.

A failed write (a full disk, a reader that is gone, a closed standard output) ends a command, unless
it would end the following of a signed transaction: then the output is lost, and the exit code still
says how it ended.
"""

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import click

from quietswap.rules.foreign_text import visible

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\r"})
_NO_CONTROLS = bytes.maketrans(_CONTROLS, b"?" * len(_CONTROLS))
"""For bytes, which click writes where the encoding is ASCII, and an export of orders."""
_GOES_ON = "quietswap.goes_on_without_output"


def goes_on_without_output(decide: Callable[[], bool]) -> None:
    """Let a failed write of this command be no error once `decide` says so."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_GOES_ON] = decide


def is_written() -> bool:
    """Write what standard output still buffers; return whether nothing of it was lost."""
    sys.stdout.flush()
    return not (isinstance(sys.stdout, _Stream) and sys.stdout.is_lost)


@contextlib.contextmanager
def checked_output(meta: Mapping[str, Any]) -> Iterator[None]:
    """Turn a failed write to standard output into an error, or into lost output; print errors.

    Raises click.exceptions.Exit with the code of the error, also if it cannot be printed. An
    unexpected exception is printed with its traceback, and the code is 1. `meta` is that of the
    command's context, which a thread that draws cannot ask click for.
    """
    if sys.stdout is None:
        raise click.ClickException("standard output is closed: redirect it, as in > /dev/null")
    given, losses = (sys.stdout, sys.stderr), (_Loss(), _Loss())
    sys.stdout = _Stream(sys.stdout, losses[0], meta)
    if sys.stderr is not None:
        sys.stderr = _Stream(sys.stderr, losses[1], meta)
    try:
        yield
        sys.stdout.flush()
    except (click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except click.ClickException as error:
        raise _shown(error) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            text = f"the output cannot be written: {error.strerror}; what the command has done"
            raise _shown(click.ClickException(f"{text} stays done")) from None
        with contextlib.suppress(OSError):
            click.echo(traceback.format_exc(), err=True)
        raise click.exceptions.Exit(1) from error
    finally:
        sys.stdout, sys.stderr = given
        _discard_unwritable(*given)
        _tell_loss(*losses)


class _Loss:
    """Why an output was lost; None while it is written."""

    why: str | None = None


class _Stream:
    """A stream of visible characters and line feeds.

    Its failed writes are lost while the command goes on without output.
    """

    def __init__(
        self, stream: Any, loss: _Loss, meta: Mapping[str, Any], *, styled: bool = False
    ) -> None:
        self._stream = stream
        self._loss = loss
        self._meta = meta
        self._styled = styled

    @property
    def buffer(self) -> "_Stream":
        """The stream of bytes, which click writes them to."""
        return _Stream(self._stream.buffer, self._loss, self._meta)

    @property
    def rich_proxied_file(self) -> "_Stream":
        """The stream that rich writes to by this name, with the escape sequences of its styles."""
        return _Stream(self._stream, self._loss, self._meta, styled=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def is_lost(self) -> bool:
        return self._loss.why is not None

    def write(self, text: str | bytes) -> Any:
        """Write `text`. Raises OSError while the command does not go on without output."""
        if isinstance(text, str) and not self._styled:
            text = visible(text, keep="\n")
        elif isinstance(text, bytes):
            text = text.translate(_NO_CONTROLS)
        if self._loss.why is None:
            with self._losing():
                return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        if self._loss.why is None:
            with self._losing():
                self._stream.flush()

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            decide = self._meta.get(_GOES_ON)
            if decide is None or not decide():
                raise
            self._loss.why = error.strerror or "it is gone"
            _discard(self._stream)


def _discard(stream: Any) -> None:
    """Send what is still buffered nowhere: Python writes it again at exit, which would fail."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _shown(error: click.ClickException) -> click.exceptions.Exit:
    """Print an error, which may not be writable either, and return the exit with its code."""
    with contextlib.suppress(OSError):
        error.show()
    return click.exceptions.Exit(error.exit_code)


def _discard_unwritable(*streams: IO[Any] | None) -> None:
    for stream in streams:
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            _discard(stream)


def _tell_loss(out: _Loss, err: _Loss) -> None:
    if out.why is not None and err.why is None:
        text = f"the output cannot be written: {out.why}; the exit code says how it ended"
        try:
            click.echo(text, err=True)
        except OSError:
            _discard_unwritable(sys.stderr)
