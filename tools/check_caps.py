"""Refuse files, functions and nesting beyond the caps: 500 lines, 60 lines, 3 levels.

In Python and in TypeScript; what is generated has no caps.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES, FUNCTION_LINES, NESTING = 500, 60, 3
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match,
)  # fmt: skip


def depth(node: ast.AST, level: int = 0) -> int:
    """Return the deepest nesting of blocks below `node`; an elif stays on its if's level."""
    deepest = level
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            continue
        is_elif = isinstance(node, ast.If) and node.orelse == [child] and isinstance(child, ast.If)
        deeper = level + (isinstance(child, _BLOCKS) and not is_elif)
        deepest = max(deepest, depth(child, deeper))
    return deepest


def complaints(path: Path) -> Iterator[str]:
    """Yield one line for each cap the file breaks."""
    text = path.read_text("utf-8")
    lines = text.count("\n")
    if lines > FILE_LINES:
        yield f"{path}: {lines} lines, at most {FILE_LINES}"
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, _FUNCTIONS):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > FUNCTION_LINES:
            yield f"{path}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LINES}"
        if depth(node) > NESTING:
            yield f"{path}:{node.lineno}: {node.name} nests {depth(node)} deep, at most {NESTING}"


def typescript_complaints(paths: list[Path]) -> Iterator[str]:
    """Yield one line for each cap that the TypeScript files break. Needs the client's packages."""
    for path in paths:
        lines = path.read_text("utf-8").count("\n")
        if lines > FILE_LINES:
            yield f"{path}: {lines} lines, at most {FILE_LINES}"
    script = Path(__file__).with_name("typescript_caps.mjs")
    words = ["node", script, str(FUNCTION_LINES), str(NESTING), *paths]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    yield from done.stdout.splitlines()


def typescript_files(root: Path) -> list[Path]:
    """Return the sources of the page and of the TypeScript client."""
    folders = (root / "web" / "src", root / "clients" / "typescript" / "src")
    files = (path for folder in folders for path in folder.rglob("*.ts*"))
    return sorted(path for path in files if "generated" not in path.parts)


def main() -> int:
    """Print every complaint about src, tests and the TypeScript; 1 if there is any."""
    root = Path(__file__).parent.parent
    files = [p for d in ("src", "tests", "tools", "examples") for p in (root / d).rglob("*.py")]
    scripts = typescript_files(root)
    found = [line for path in sorted(files) for line in complaints(path)]
    found += typescript_complaints(scripts)
    print("\n".join(found) or f"caps hold in {len(files) + len(scripts)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
