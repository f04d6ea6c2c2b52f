"""Docstrings name exceptions that exist, and each module has a description of its own."""

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "quietswap"
RAISES = re.compile(r"[Rr]aises?:? ((?:[^.`]|\.\w)*)")
NO_CLASS = {"OpenTelemetry"}
EXCEPTION = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]*)+\b")


def names(tree: ast.AST) -> Iterator[str]:
    """Yield every name that a module defines, imports or uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).rpartition(".")[2]
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def test_what_docstrings_say_is_raised_exists() -> None:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    known = {name for tree in trees.values() for name in names(tree)} | set(dir(builtins))
    mentioned = [
        (path.relative_to(PACKAGE), word)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for raised in RAISES.findall(ast.get_docstring(node) or "")
        for word in EXCEPTION.findall(raised)
    ]
    assert len(mentioned) > 100
    assert {one for one in mentioned if one[1] not in known | NO_CLASS} == set()


def test_no_two_modules_have_the_same_description() -> None:
    described: dict[str, list[Path]] = {}
    for path in PACKAGE.rglob("*.py"):
        text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
        described.setdefault(text or str(path), []).append(path.relative_to(PACKAGE))
    assert [paths for paths in described.values() if len(paths) > 1] == []
