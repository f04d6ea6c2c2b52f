"""Settings, database, audit records and output of operator commands. The service need not run."""

import asyncio
import functools
import json
import re
import secrets
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from quietswap.cli.output.exit_codes import DependencyUnreachable
from quietswap.rules.clients import AuditEntry
from quietswap.rules.operator.operators import AuditUnavailable
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.base.clock import SystemClock
from quietswap.service.clients.credentials import KeyRefused
from quietswap.service.operator.audit_file import AuditFile, actor
from quietswap.service.server.settings import BadSettings, load, load_sections
from quietswap.service.settings import Settings
from quietswap.service.storage import database, database_urls
from quietswap.service.storage.factory import Storage, open_storage
from quietswap.service.storage.migrate import SchemaTooNew, SchemaTooOld
from quietswap.service.storage.sqlite_to_postgres import CannotCopy

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

settings_option: Callable[[F], F] = click.option(
    "--settings", "settings_path", type=click.Path(path_type=Path, dir_okay=False),
    envvar="QUIETSWAP_SETTINGS", show_envvar=True,
    help="TOML file; every setting can also be an environment variable QUIETSWAP_SECTION__NAME.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """Settings and database of one operator command, and its output."""

    settings_path: Path | None
    as_json: bool = False

    @property
    def url(self) -> str:
        """The database URL without user, password and query."""
        from quietswap.service.storage.database_urls import shown_url

        return shown_url(self.settings("storage").storage.url)

    def settings(self, *sections: str) -> Settings:
        """Return the settings. Raises click.UsageError with one line for each fault.

        With `sections`, the caller reads these only: a variable that names no setting is an error
        only if it may be meant for them, and a warning otherwise.
        """
        try:
            if not sections:
                return load(self.settings_path)
            settings, strays = load_sections(self.settings_path, sections)
        except BadSettings as error:
            first, *more = str(error).splitlines()
            faults = (
                "\n" + "\n".join(f"- {line}" for line in (first, *more)) if more else f" {first}"
            )
            raise click.UsageError(f"the settings cannot be used:{faults}") from error
        _warn_of(strays)
        return settings

    @staticmethod
    def audit(event: str, **details: object) -> AuditEntry:
        """Return an entry of now by the account that runs the command. Details are no secrets."""
        now = SystemClock().now_ms()
        account = {name: str(value) for name, value in actor().items()}
        return AuditEntry(f"aud_{now:012x}{secrets.token_hex(6)}", now, account, event, details)

    def run(
        self,
        work: Callable[[Storage], Awaitable[T]],
        *,
        creates: bool = False,
        checked: bool = True,
        rates: bool = False,
    ) -> T:
        """Open the storage and return the result of `work`. Raises as `storage_errors` does.

        Only with `creates`, a missing SQLite file is created. Otherwise `work` gets an empty
        database in memory: the path may be mistyped. `checked` is that of `open_storage`. With
        `rates` the shared rate store is opened, too, if one is set.
        """

        async def opened() -> T:
            chosen = self.settings("storage").storage
            url, redis_url = chosen.url, chosen.redis_url if rates else None
            if (
                not creates
                and (missing := database_urls.missing_file(url))
                and missing.parent.is_dir()
            ):
                url = database_urls.SQLITE + database.IN_MEMORY
            clock = SystemClock()
            storage = await open_storage(url, clock=clock, rates_url=redis_url, checked=checked)
            try:
                return await work(storage)
            finally:
                await storage.close()

        with storage_errors():
            return asyncio.run(opened())

    @contextmanager
    def recorded(self, event: str, **details: object) -> Iterator[dict[str, object]]:
        """Record the outcome of the `with` block, done or failed, in the audit file.

        The block can add details to the mapping. Raises click.ClickException before the block if
        the audit file cannot be written. What was done and could not be recorded is done
        nevertheless, and its output may be a secret: this is a warning on standard error.
        """
        audit = AuditFile(self.settings("observe").observe.audit_file)
        record: dict[str, object] = {}
        try:
            audit.check()
        except AuditUnavailable as error:
            raise click.ClickException(f"{error}; nothing was done") from error
        try:
            yield record
        except BaseException as error:
            reason = type(error).__name__
            if isinstance(error, click.ClickException):
                reason = error.format_message()
            _write(audit, event, outcome="failed", reason=reason, **details, **record)
            raise
        _write(audit, event, outcome="done", **details, **record)

    def change(
        self,
        event: str,
        work: Callable[[Storage], Awaitable[T]],
        *,
        creates: bool = False,
        adds: Callable[[T], Mapping[str, object]] = lambda _: {},
        **details: object,
    ) -> T:
        """Return the result of `work`, recorded in the audit file with the details.

        `adds` returns further details of the result.
        """
        with self.recorded(event, **details) as record:
            changed = self.run(work, creates=creates)
            record.update(adds(changed))
        return changed

    def result(self, value: object, text: str, note: str = "") -> None:
        """Print a result: a value as JSON, or a text, with a note on standard error."""
        click.echo(json.dumps(value) if self.as_json else text)
        if note and not self.as_json:
            click.echo(note, err=True)

    def listing(
        self,
        values: Sequence[object],
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        none: str,
    ) -> None:
        """Print values as JSON, or their rows as a table; without any the text `none`."""
        if self.as_json:
            click.echo(json.dumps(values))
        elif rows:
            from quietswap.cli.output.text_table import print_table

            print_table(header, rows)
        else:
            click.echo(none, err=True)


def members(record: object, *names: str) -> dict[str, Any]:
    """Return attributes by their names in JSON: `created_at_ms` becomes `createdAt`."""
    by_name = {}
    for name in names:
        first, *more = name.removesuffix("_ms").split("_")
        by_name["".join((first, *map(str.title, more)))] = getattr(record, name)
    return by_name


def operator_command(
    group: click.Group | None = None, name: str | None = None, *, prints: str = "one JSON object"
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command with `--settings` and `--json`, of a group. It gets an OperatorContext."""

    made = click.command(name) if group is None else group.command(name)

    def added(function: Callable[..., None]) -> click.Command:
        @made
        @settings_option
        @functools.wraps(function)
        def command(*, settings_path: Path | None, as_json: bool, **given: Any) -> None:
            function(context=OperatorContext(settings_path, as_json), **given)

        text = f"Print {prints}."
        command.params.append(click.Option(["--json", "as_json"], is_flag=True, help=text))
        return command

    return added


def secret_option(prefix: str, what: str) -> Callable[[F], F]:
    """Return `--secret-stdin`. The command gets the secret; None without the option.

    Another input raises click.UsageError, which never shows it.
    """

    def read(_context: click.Context, _param: click.Parameter, wanted: bool) -> str | None:
        if not wanted:
            return None
        secret = sys.stdin.read(256).strip()
        if not re.fullmatch(f"{prefix}_[0-9a-f]{{64}}", secret):
            raise click.UsageError(
                f"--secret-stdin: a {what} is {prefix}_ and 64 lower-case hexadecimal digits; make"
                f' one with: echo "{prefix}_$(openssl rand -hex 32)"'
            )
        return secret

    return click.option(
        "--secret-stdin", "typed_secret", is_flag=True, callback=read,
        help=f"Read the {what} from standard input: {prefix}_ and 64 hexadecimal digits of 256"
        " random bits.",
    )  # fmt: skip


def _warn_of(strays: Collection[str]) -> None:
    context = click.get_current_context(silent=True)  # none where the output is being closed
    warned: set[str] = context.meta.setdefault(__name__, set()) if context else set()
    for name in strays:
        if name not in warned:
            warned.add(name)
            text = f"careful: {name} names no setting and is ignored; `quietswap serve` refuses it"
            click.echo(text, err=True)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn errors of storage, settings and keys into click errors: exit code 1, 2 or 3."""
    try:
        yield
    except StoreUnavailable as error:
        text = f"{error}: is storage.url right, and the database up?"
        raise DependencyUnreachable(text) from error
    except (database_urls.BadDatabaseUrl, BadSettings) as error:
        raise click.UsageError(str(error)) from error
    except (KeyRefused, SchemaTooNew, SchemaTooOld, database.ForeignDatabase, CannotCopy) as error:
        raise click.ClickException(str(error)) from error


def _write(audit: AuditFile, event: str, **details: object) -> None:
    """Write the outcome to the audit file, or warn on standard error that it is not recorded."""
    try:
        audit.write(event, **details)
    except AuditUnavailable as error:
        text = f"careful: this is not recorded in the audit file: {error} ({details['outcome']})"
        click.echo(text, err=True)
