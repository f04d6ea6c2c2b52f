"""Write what pages of docs/ have from the code: `make pages`; a test compares them."""

from pathlib import Path

from tools import api_page, cli_page, configuration_page, order_diagram, router_methods_page
from tools.marked import DOCS, filled


def generated() -> dict[Path, str]:
    """Return the text of each file as it must be."""
    tools = {
        "cli.md": cli_page,
        "configuration.md": configuration_page,
        "orders.md": order_diagram,
        "security.md": router_methods_page,
    }
    pages = {DOCS / name: tool.parts() for name, tool in tools.items()}
    return {path: filled(path.read_text("utf-8"), **parts) for path, parts in pages.items()} | {
        DOCS / "api.md": api_page.page(),
        DOCS / "_static" / "router-methods.json": router_methods_page.data(),
    }


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, "utf-8")
