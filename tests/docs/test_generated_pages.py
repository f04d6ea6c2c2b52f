"""The pages written by tools are what the code says today."""

from tools import api_page, cli_page, client_page

from tests.deploy.files import DOCS


def test_the_api_reference_is_current() -> None:
    assert (DOCS / "api.md").read_text("utf-8") == api_page.page(), "run: python tools/api_page.py"


def test_the_command_reference_is_current() -> None:
    assert (DOCS / "cli.md").read_text("utf-8") == cli_page.page(), "run: python tools/cli_page.py"


def test_the_reference_of_the_client_is_current() -> None:
    kept = (DOCS / "client-reference.md").read_text("utf-8")
    assert kept == client_page.page(), "run: python tools/client_page.py"
