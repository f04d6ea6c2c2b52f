"""Nothing that writes to a terminal interprets a string: what could is not imported at all."""

import ast

from tests.architecture.modules import nodes, text_of

STYLED_BY_OBJECTS = {
    "rich.console": {"Console", "ConsoleOptions", "Group", "RenderableType", "RenderResult"},
    "rich.live": {"Live"},
    "rich.measure": {"Measurement"},
    "rich.padding": {"Padding"},
    "rich.protocol": {"rich_cast"},
    "rich.segment": {"Segment"},
    "rich.table": {"Column", "Table"},
    "rich.text": {"Text"},
}
"""Of the other names, some read markup in a string whatever the console is told: Panel, Progress,
Prompt, Spinner, Status, Tree, print."""
INTERPRETING = {"from_markup", "from_ansi", "render_markup", "status", "input", "log", "rule"}
"""Methods of Text and Console that do the same. `log` of other objects is told by its name."""
MAKERS = {
    "Console": "cli/output/console.py",
    "SafeConsole": "cli/output/console.py",
    "FileProxy": "cli/output/console.py",
    "Live": "cli/output/order_progress.py",
}
"""What writes to the terminal itself, and the one module that may make it."""


def test_only_what_is_styled_by_objects_is_imported_from_rich() -> None:
    for name, node in nodes():
        if isinstance(node, ast.Import):
            assert not any(each.name.partition(".")[0] == "rich" for each in node.names), name
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rich":
            names = {each.name for each in node.names}
            assert names <= STYLED_BY_OBJECTS.get(node.module or "", set()), (name, names)


def test_one_console_is_made_and_none_interprets() -> None:
    for name, node in nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert MAKERS.get(node.func.id, name) == name, f"{name}: {node.func.id}"
            assert node.func.id != "print", name
        is_console = isinstance(node, ast.Attribute) and _is_console(node.value)
        if is_console or (isinstance(node, ast.Attribute) and node.attr.startswith("from_m")):
            assert isinstance(node, ast.Attribute)
            assert node.attr not in INTERPRETING, f"{name}: {ast.unparse(node)}"


def _is_console(node: ast.expr) -> bool:
    return text_of(node).rpartition(".")[2] in ("screen", "_screen", "console()", "Text")


def test_styles_come_from_no_answer() -> None:
    """A style is a literal, a name of a table here, or the result of its `get`."""
    for place, node in nodes("cli/"):
        is_text = isinstance(node, ast.Call) and (
            text_of(node.func) == "Text" or text_of(node.func).endswith("say")
        )
        if is_text and isinstance(node, ast.Call) and len(node.args) > 1:
            style = ast.unparse(node.args[1])
            assert not style.startswith("f"), f"{place}: {style}"


def test_both_outputs_are_written_through_one_door() -> None:
    """`sys.stdout` is written by click and the console alone, through the checked outputs."""
    allowed = {"cli/output/lost_output.py", "cli/output/console.py", "service/observe/logs.py"}
    for name, node in nodes():
        text = text_of(node) if isinstance(node, ast.Attribute) else ""
        if text in ("sys.stdout.write", "sys.stderr.write", "sys.__stdout__", "sys.__stderr__"):
            assert name in allowed, f"{name}: {text}"
