"""The `--settings` option of all operator commands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from quietswap.settings.load import BadSettings, load
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


def read_settings(path: Path | None) -> Settings:
    """Return the settings. Raises click.UsageError with one line for each fault."""
    try:
        return load(path)
    except BadSettings as error:
        raise click.UsageError(_in_lines(error)) from error


def _in_lines(error: BadSettings) -> str:
    first, *more = str(error).splitlines()
    if not more:
        return f"the settings cannot be used: {first}"
    return "the settings cannot be used:\n" + "\n".join(f"- {line}" for line in (first, *more))
