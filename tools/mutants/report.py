"""The known survivors and their reasons, and the page that lists them."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.make import Mutant
from tools.mutants.run import Verdict

KNOWN = Path(__file__).with_name("survivors.toml")
ENOUGH = 0.9
_HEAD = """\
# Mutants

`make mutants MUTANTS_PAGE=docs/mutants.md` writes this page. A mutant is the code with one small
change. It is killed if a test that belongs to it fails. [Decision 0041](decisions/0041-mutants.md)
describes the changes, the tests and the time limit.

"""


@dataclass(frozen=True)
class Survivor:
    """A survivor that somebody looked at, and why no test kills it."""

    module: str
    function: str
    change: str
    reason: str
    is_equivalent: bool

    def is_of(self, mutant: Mutant) -> bool:
        """Return whether the mutant is this one."""
        ours = (self.module, self.function, self.change)
        return ours == (mutant.module, mutant.function, mutant.change)


@dataclass(frozen=True)
class Judged:
    """A mutant, its verdict, and what is known of it."""

    area: str
    mutant: Mutant
    verdict: Verdict
    known: Survivor | None = None

    @property
    def is_alive(self) -> bool:
        """Return whether no test fails."""
        return self.verdict in {Verdict.SURVIVED, Verdict.NOT_RUN}

    @property
    def is_equivalent(self) -> bool:
        """Return whether it is alive because no test can fail."""
        return self.is_alive and self.known is not None and self.known.is_equivalent


def survivors(path: Path = KNOWN) -> list[Survivor]:
    """Return the known survivors."""
    rows = tomllib.loads(path.read_text("utf-8")).get("survivor", [])
    return [Survivor(**row) for row in rows]


def share(judged: Sequence[Judged]) -> float:
    """Return the share of the mutants that are not equivalent which are killed."""
    counted = [one for one in judged if not one.is_equivalent]
    return sum(not one.is_alive for one in counted) / len(counted) if counted else 1.0


def line(one: Judged) -> str:
    """Return one line for a terminal."""
    mutant = one.mutant
    known = f" ({one.known.reason})" if one.is_alive and one.known else ""
    where = f"{mutant.module}:{mutant.line} {mutant.function}"
    return f"{one.verdict.value:9} {where}: {mutant.change}{known}"


def summary(judged: Sequence[Judged]) -> str:
    """Return the figures as one line."""
    killed = sum(not one.is_alive for one in judged)
    equivalent = sum(one.is_equivalent for one in judged)
    return (
        f"{len(judged)} mutants: {killed} killed, {equivalent} equivalent, "
        f"{len(judged) - killed - equivalent} alive; {share(judged):.1%} killed of those that "
        f"are not equivalent"
    )


def page(judged: Sequence[Judged], *, seed: int) -> str:
    """Return the page of a run."""
    written = [
        _HEAD,
        f"Seed {seed}, {len(judged)} mutants.\n\n",
        "| area | mutants | killed | of these by the time limit | equivalent | alive | share |\n",
        "|---|--:|--:|--:|--:|--:|--:|\n",
    ]
    for area in [*dict.fromkeys(one.area for one in judged), "all"]:
        rows = [one for one in judged if area in {one.area, "all"}]
        killed = sum(not one.is_alive for one in rows)
        hung = sum(one.verdict is Verdict.HUNG for one in rows)
        equal = sum(one.is_equivalent for one in rows)
        figures = (len(rows), killed, hung, equal, len(rows) - killed - equal)
        cells = " | ".join(str(figure) for figure in figures)
        written.append(f"| `{area}` | {cells} | {share(rows):.1%} |\n".replace("`all`", "all"))
    written.append("\nThe share is that of killed mutants among those that are not equivalent.\n")
    for title, equivalent in (("Equivalent", True), ("Alive", False)):
        rows = [one for one in judged if one.is_alive and one.is_equivalent is equivalent]
        written.append(f"\n## {title}\n\n" + (_table(rows) if rows else "None.\n"))
    return "".join(written)


def _table(rows: Sequence[Judged]) -> str:
    table = "| function | change | reason |\n|---|---|---|\n"
    for one in rows:
        module = one.mutant.module.removeprefix("quietswap/")
        change = one.mutant.change.replace("|", "\\|")
        reason = one.known.reason if one.known else "no test yet"
        table += f"| `{module}` `{one.mutant.function}` | `{change}` | {reason} |\n"
    return table
