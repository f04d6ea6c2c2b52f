"""The modules of the package, parsed once for all searches of this folder."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import quietswap

PACKAGE = Path(quietswap.__file__).parent


@cache
def modules() -> dict[str, ast.Module]:
    """Return each module by its path below the package."""
    places = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
    return {place: ast.parse(path.read_text("utf-8")) for place, path in places.items()}


@cache
def _walked() -> dict[str, list[ast.AST]]:
    return {place: list(ast.walk(module)) for place, module in modules().items()}


def nodes(*rooms: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield each node of the modules whose path begins with one of `rooms`, or of all."""
    for place, inside in _walked().items():
        if not rooms or place.startswith(rooms):
            yield from ((place, node) for node in inside)


@cache
def _functions() -> list[tuple[str, str, list[ast.AST]]]:
    return [
        (place, node.name, list(ast.walk(node)))
        for place, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def functions(*rooms: str) -> Iterator[tuple[str, str, list[ast.AST]]]:
    """Yield place, name and nodes of each function below `rooms`."""
    yield from (each for each in _functions() if each[0].startswith(rooms))


def text_of(node: ast.AST) -> str:
    """Return the code of a name or an attribute, much faster than `ast.unparse` does."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{text_of(node.value)}.{node.attr}"
    return ast.unparse(node)
