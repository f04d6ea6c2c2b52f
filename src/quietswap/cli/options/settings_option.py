"""The `--settings` option of all operator commands."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import click

from quietswap.settings.load import BadSettings, load, load_sections
from quietswap.settings.schema import Settings

F = TypeVar("F", bound=Callable[..., Any])

settings_option: Callable[[F], F] = click.option(
    "--settings",
    "settings_path",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="QUIETSWAP_SETTINGS",
    show_envvar=True,
    help="TOML file; every setting can also be an environment variable QUIETSWAP_SECTION__NAME.",
)


def read_settings(path: Path | None, *sections: str) -> Settings:
    """Return the settings. Raises click.UsageError with one line for each fault.

    With `sections`, the caller reads these only: a variable that names no setting is an error only
    if it may be meant for them, and a warning otherwise.
    """
    try:
        if not sections:
            return load(path)
        settings, strays = load_sections(path, sections)
    except BadSettings as error:
        raise click.UsageError(_in_lines(error)) from error
    _warn_of(strays)
    return settings


def _warn_of(strays: Collection[str]) -> None:
    """Name each variable on standard error, once in a command."""
    context = click.get_current_context(silent=True)  # none where the output is being closed
    told: set[str] = context.meta.setdefault(__name__, set()) if context else set()
    for name in strays:
        if name not in told:
            told.add(name)
            text = f"careful: {name} names no setting and is ignored; `quietswap serve` refuses it"
            click.echo(text, err=True)


def _in_lines(error: BadSettings) -> str:
    first, *more = str(error).splitlines()
    if not more:
        return f"the settings cannot be used: {first}"
    return "the settings cannot be used:\n" + "\n".join(f"- {line}" for line in (first, *more))
