"""Docstrings name what exists, and each module has a description of its own."""

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.modules import PACKAGE, modules, nodes

RAISES = re.compile(r"[Rr]aises?:? ((?:[^.`]|\.\w)*)")
NO_CLASS = {"OpenTelemetry"}
EXCEPTION = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]*)+\b")


def names() -> Iterator[str]:
    """Yield every name that a module defines, imports or uses."""
    for _, node in nodes():
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).rpartition(".")[2]
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def test_what_docstrings_say_is_raised_exists() -> None:
    known = {*names(), *dir(builtins)}
    mentioned = [
        (place, word)
        for place, node in nodes()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for raised in RAISES.findall(ast.get_docstring(node) or "")
        for word in EXCEPTION.findall(raised)
    ]
    assert len(mentioned) > 100
    assert {one for one in mentioned if one[1] not in known | NO_CLASS} == set()


def test_no_two_modules_have_the_same_description() -> None:
    described: dict[str, list[str]] = {}
    for place, module in modules().items():
        described.setdefault(ast.get_docstring(module) or place, []).append(place)
    assert [places for places in described.values() if len(places) > 1] == []


QUOTED = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")


def split(path: Path) -> tuple[set[str], list[str]]:
    """Return the words of a module's code and strings, and its docstrings and comments."""
    source, inside = path.read_text("utf-8"), list(nodes(str(path.relative_to(PACKAGE))))
    told = {
        id(node.value): node.value.value
        for _, node in inside
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
    }
    words = {path.stem, path.parent.name}
    for _, node in inside:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            words.update(re.findall(r"\w+", node.value))
    texts = list(told.values())
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        words.update([token.string] if token.type == tokenize.NAME else ())
        texts += [token.string] if token.type == tokenize.COMMENT else []
    return words, texts


def test_what_docstrings_name_exists() -> None:
    """Modules of ours (`quietswap.a.b`), constants (`module.NAME`), names with an underscore."""
    modules = {path: split(path) for path in PACKAGE.rglob("*.py")}
    others = (p for p in PACKAGE.rglob("*") if p.suffix in {".sql", ".sol", ".html", ".mjs"})
    everywhere = {word for p in others for word in re.findall(r"\w+", p.read_text("utf-8"))}
    everywhere.update(*(words for words, _ in modules.values()))
    of_stem: dict[str, set[str]] = {}
    for path, (words, _) in modules.items():
        of_stem.setdefault(path.stem, set()).update(words)
    gone = {
        (str(path.relative_to(PACKAGE)), name)
        for path, (_, texts) in modules.items()
        for text in texts
        for name in QUOTED.findall(text)
        if not _exists(name, of_stem, everywhere)
    }
    assert gone == set()


def _exists(name: str, of_stem: dict[str, set[str]], everywhere: set[str]) -> bool:
    *before, last = name.split(".")
    if before and before[0] == "quietswap" and "NAME" not in before:
        path = PACKAGE.parent.joinpath(*before)
        is_module = (path / last).is_dir() or (path / f"{last}.py").exists()
        in_module = path.with_suffix(".py").exists() and last in of_stem[path.name]
        return is_module or in_module or last in of_stem["__init__"]
    if before and before[-1].islower() and last.isupper():
        return last in of_stem.get(before[-1], set())
    return (
        name.startswith(("eth_abi.", "Py_", "QUIETSWAP_"))
        or "_" not in name.strip("_")
        or last in everywhere
    )
