"""Reading the files of `deploy/` and `docs/`, and asking the service about the settings in them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import yaml

from quietswap.cli import command
from quietswap.rules.vendors import OVER_HTTP, VENDORS
from quietswap.service.server.factories import chosen_sources
from quietswap.service.server.settings import load
from quietswap.service.server.start_checks import startup_faults
from quietswap.service.settings import Settings, SourceConfig

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCS = ROOT / "docs"
IMAGE_ENVIRONMENT = {"QUIETSWAP_SERVER__HOST": "0.0.0.0"}
"""What deploy/Dockerfile sets; tests/deploy/test_image.py compares."""
NODE = {"QUIETSWAP_NODE__URLS": "https://node.example"}


def documents(name: str) -> list[dict[str, Any]]:
    """Return the YAML documents of a file in `deploy/`."""
    return list(yaml.safe_load_all((DEPLOY / name).read_text("utf-8")))


def good_settings(environment: Mapping[str, str], file: Path | None = None) -> Settings:
    """Return settings that `quietswap serve` would start with; anything else fails the test."""
    settings = load(file, {"HOME": "/", **environment})
    faults = startup_faults(settings)
    assert not faults, faults
    assert len(chosen_sources(settings)) == 4
    return settings


def overspent(settings: Settings, replicas: int) -> list[str]:
    """Return the sources that so many processes would ask more often than the vendor allows."""
    found = []
    for name in {*chosen_sources(settings)} & {*OVER_HTTP}:
        usual, here = VENDORS[name].budget, settings.source.get(name, SourceConfig())
        second = (here.per_second or usual.per_second) * replicas > usual.per_second
        day = (
            usual.per_day is not None and (here.per_day or usual.per_day) * replicas > usual.per_day
        )
        found += [name] if second or day else []
    return found


def shell_lines(page: Path) -> Iterator[str]:
    """Yield the commands in the `sh` blocks of a page, continued lines joined."""
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        yield from (line for line in block.replace("\\\n", " ").splitlines() if line.strip())


def parse_command(words: list[str]) -> click.Command:
    """Return the quietswap command these words call; an unknown name or option raises UsageError.

    Nothing runs: only names, options and the number of arguments are looked at.
    """
    group: click.Command = command
    while isinstance(group, click.Group):
        context = click.Context(group, info_name="quietswap")
        found = group.get_command(context, words[0]) if words else None
        if found is None:
            raise click.UsageError(f"quietswap has no command {' '.join(words)}")
        group, words = found, words[1:]
    parser = group.make_parser(click.Context(group))
    values, left, _ = parser.parse_args(args=list(words))
    arguments = [p for p in group.params if isinstance(p, click.Argument) and p.required]
    if left or any(values.get(str(a.name)) is None for a in arguments):
        raise click.UsageError(f"{group.name}: wrong arguments {words}")
    return group
