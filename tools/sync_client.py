"""Write client/sync_client.py, the blocking client, from async_client.py; a test compares them."""

import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parent.parent / "src" / "quietswap" / "client"
TARGET = CLIENT / "sync_client.py"
_WORDS = (
    ('"""The asynchronous client: the same methods as the blocking one, awaited."""',
     '"""The blocking client: one method per endpoint, and the flows."""'),
    ("an `async with` block", "a `with` block"),
    ("import asyncio\n", ""),
    ("import Awaitable, ", "import "),
    ("Awaitable[None]] = asyncio.sleep", "None] = time.sleep"),
    ("run_async", "run"),
    ("async def ", "def "),
    ("await ", ""),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("AsyncQuietswapClient", "QuietswapClient"),
    ("AsyncTransport", "SyncTransport"),
)  # fmt: skip


def source() -> str:
    """Return the source of the blocking client."""
    text = (CLIENT / "async_client.py").read_text("utf-8")
    for word, blocking in _WORDS:
        text = text.replace(word, blocking)
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        ruff = [Path(sys.executable).with_name("ruff"), *command, "--stdin-filename", TARGET, "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    TARGET.write_text(source(), "utf-8")
