"""What the documentation site needs beyond Markdown: its contents, diagrams, links to the code."""

import re
import subprocess
from pathlib import Path
from typing import ClassVar

import client_page
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[1]
_ROW = re.compile(r"^\| *(\w*) *\| \[[^]]+\]\(([\w/-]+)\.md\) \|", re.M)


class Pages(SphinxDirective):
    """The site's contents: the pages in the table of a Markdown file, under its first column."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """Return one hidden table of contents for each group."""
        path, name = self.env.relfn2path(self.arguments[0])[::-1]
        self.env.note_dependency(name)
        groups: dict[str, list[str]] = {}
        title = ""
        for group, page in _ROW.findall(Path(path).read_text("utf-8")):
            title = group.capitalize() or title
            groups.setdefault(title, []).append(page)
        trees = [_tree(title, pages) for title, pages in groups.items()]
        return self.parse_text_to_nodes("\n".join(trees))


def _tree(title: str, pages: list[str]) -> str:
    lines = [".. toctree::", "   :hidden:", f"   :caption: {title}", ""]
    return "\n".join([*lines, *(f"   {page}" for page in pages), ""])


class Mermaid(SphinxDirective):
    """A diagram, drawn into the page: no script has to be fetched to see it."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the drawing."""
        done = subprocess.run(
            ["node", "tools/diagram.mjs"],
            input="\n".join(self.content), capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise self.error(f"the diagram cannot be drawn: {done.stderr}")
        return [nodes.raw("", f'<div class="diagram">{done.stdout}</div>', format="html")]


def unlink_folders(app: Sphinx, document: nodes.document) -> None:
    """Leave links to folders of the repository as text: the site has no pages for them."""
    for link in list(document.findall(pending_xref)):
        if Path(app.srcdir, link["refdoc"]).parent.joinpath(link["reftarget"]).is_dir():
            link.replace_self(link.children)


def fill_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Put a folder's pages below the folder's own page, and write the client's reference."""
    if page.endswith("/README"):
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n"
    if page == "client-reference":
        source[0] = client_page.page()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it all."""
    app.add_directive("pages", Pages)
    app.add_directive("mermaid", Mermaid)
    app.connect("doctree-read", unlink_folders)
    app.connect("source-read", fill_pages)
    return {"parallel_read_safe": True}
