"""Make the mutants of a module: the operators of mutmut, and four that it does not have."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation import mutators

_NEVER_INSIDE = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.TypeAlias)
_TYPE_CALLS = {"isinstance", "len", "cast", "TypeVar", "NewType"}
# A missing argument or None as a value mostly ends in a TypeError, so any test that runs the
# line kills it.
_ONLY_A_CRASH = {mutators.operator_arg_removal, mutators.operator_assignment}
_CONTEXT, _SHOWN = 24, 110
_AT_IMPORT = {mutators.operator_number, mutators.operator_name}


def _without_statement(node: cst.Expr) -> Iterable[cst.CSTNode]:
    """Drop a call whose result nothing uses."""
    value = node.value.expression if isinstance(node.value, cst.Await) else node.value
    if isinstance(value, cst.Call):
        yield cst.Pass()


def _without_value(node: cst.Return) -> Iterable[cst.CSTNode]:
    """Return None where a value is returned; True and False have an operator of their own."""
    if node.value is not None and not _is_name(node.value, "None", "True", "False"):
        yield node.with_changes(value=cst.Name("None"))


def _negated(node: cst.If) -> Iterable[cst.CSTNode]:
    """Take the other branch of an `if`; comparisons have operators of their own."""
    if not isinstance(node.test, (cst.Comparison, cst.UnaryOperation)):
        test = cst.UnaryOperation(
            operator=cst.Not(),
            expression=node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()]),
        )
        yield node.with_changes(test=test, leading_lines=[])


def _without_keyword(node: cst.Call) -> Iterable[cst.CSTNode]:
    """Leave a keyword argument to its default."""
    for arg in node.args:
        if arg.keyword is not None:
            yield node.with_changes(args=[one for one in node.args if one is not arg])


def _is_name(node: cst.CSTNode, *names: str) -> bool:
    return isinstance(node, cst.Name) and node.value in names


Operator = Callable[[Any], Iterable[cst.CSTNode]]
OPERATORS: tuple[tuple[type, Operator], ...] = (
    *(row for row in mutators.mutation_operators if row[1] not in _ONLY_A_CRASH),
    (cst.Call, _without_keyword),
    (cst.Expr, _without_statement),
    (cst.Return, _without_value),
    (cst.If, _negated),
)


@dataclass(frozen=True)
class Mutant:
    """One change of one place; `key` stays the same as long as its function and the place do."""

    module: str  # path below `src`
    function: str  # qualified name of the function or class, or empty
    at_import: bool  # outside functions
    line: int
    lines: tuple[int, ...]  # all lines of the changed node
    before: str
    after: str
    place: str
    key: str
    replaced: tuple[cst.Module, cst.CSTNode, cst.CSTNode] = field(compare=False, repr=False)

    def source(self) -> str:
        """Return the whole mutated module."""
        tree, node, mutated = self.replaced
        changed = tree.deep_replace(node, mutated)
        assert isinstance(changed, cst.Module)
        return changed.code

    @property
    def change(self) -> str:
        """Return what changes, with some characters of context."""
        before, after = self.before, self.after
        start = _common(before, after)
        end = _common(before[start:][::-1], after[start:][::-1])
        left, right = max(start - _CONTEXT, 0), max(end - _CONTEXT, 0)
        parts = []
        for text in (before, after):
            part = text[left : len(text) - right]
            shown = part if len(part) <= _SHOWN else f"{part[:_SHOWN]}…"
            parts.append(f"{'…' if left else ''}{shown}{'…' if right else ''}")
        return " → ".join(parts)

    def rank(self, seed: int) -> str:
        """Return the position in the order of `seed`, which depends on no other mutant."""
        return hashlib.sha256(f"{seed}:{self.key}".encode()).hexdigest()


def _common(one: str, other: str) -> int:
    """Return the length of the longest common prefix."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


class _Collector(cst.CSTVisitor):
    """Collect (operator, node, mutated node, function, whether at import, lines) of a module."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, cst.CSTNode, cst.CSTNode, str, bool, range]] = []
        self._names: list[str] = []
        self._functions = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, _NEVER_INSIDE) or _is_type_call(node) or _is_text(node):
            return False
        if isinstance(node, cst.If) and _is_name(node.test, "TYPE_CHECKING"):
            return False
        for kind, operator in OPERATORS:
            if isinstance(node, kind) and (self._functions or operator in _AT_IMPORT):
                self._collect(node, operator)
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self._names.append(node.name.value)
            self._functions += isinstance(node, cst.FunctionDef)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, (cst.FunctionDef, cst.ClassDef)):
            self._names.pop()
            self._functions -= isinstance(original_node, cst.FunctionDef)

    def _collect(self, node: cst.CSTNode, operator: Operator) -> None:
        position = self.get_metadata(PositionProvider, node, None)
        if position is None:
            return
        last = node.test if isinstance(node, cst.If) else node
        end = self.get_metadata(PositionProvider, last).end.line
        lines = range(position.start.line, end + 1)
        name = ".".join(self._names)
        for mutated in operator(node):
            self.found.append((operator.__name__, node, mutated, name, not self._functions, lines))


def _is_type_call(node: cst.CSTNode) -> bool:
    """Return whether it is a call whose arguments only a type checker or an assertion reads."""
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in _TYPE_CALLS
    )


def _is_text(node: cst.CSTNode) -> bool:
    """Return whether it is text for a reader: a string with a space, or a docstring."""
    if isinstance(node, (cst.ConcatenatedString, cst.FormattedString)):
        return True
    return isinstance(node, cst.SimpleString) and (" " in node.value or '"""' in node.value)


def mutants(root: Path, module: str) -> Iterator[Mutant]:
    """Yield all mutants of `module`, a path below `root`, that differ from it."""
    text = (root / module).read_text("utf-8")
    wrapper = MetadataWrapper(cst.parse_module(text))
    collector = _Collector()
    wrapper.visit(collector)
    tree, places = wrapper.module, dict[tuple[str, ...], dict[int, int]]()
    for operator, node, mutated, function, at_import, lines in collector.found:
        before, after = (_code(tree, one) for one in (node, mutated))
        if before == after:
            continue
        same = places.setdefault((operator, function, before), {})
        number = same.setdefault(id(node), len(same))
        place = "\0".join((module, function, operator, before, str(number)))
        yield Mutant(
            module=module,
            function=function,
            at_import=at_import,
            line=lines[0],
            lines=tuple(lines),
            before=before,
            after=after,
            place=place,
            key=f"{place}\0{after}",
            replaced=(tree, node, mutated),
        )


def _code(tree: cst.Module, node: cst.CSTNode) -> str:
    """Return the code of a node on one line; of an `if` only its head."""
    if isinstance(node, cst.If):
        return "if " + _code(tree, node.test)
    return " ".join(tree.code_for_node(node).split())


def drawn(root: Path, modules: Iterable[str], count: int, seed: int) -> list[Mutant]:
    """Return `count` mutants of the modules: at most one of each place."""
    found = (one for module in modules for one in mutants(root, module))
    best = dict[str, Mutant]()
    for one in sorted(found, key=lambda one: one.rank(seed)):
        best.setdefault(one.place, one)
    return list(best.values())[:count]
