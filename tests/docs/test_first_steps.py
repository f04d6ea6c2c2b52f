"""What a newcomer sees first: progress while installing, the picture, the words."""

import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tests.deploy.files import DOCS, ROOT
from tests.waiting import wait_until

SAY = ROOT / "tools" / "with_progress.sh"
BUSY = ROOT / "tools" / "with_busy_cores.sh"


def say(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(SAY), "installing", *command], capture_output=True, text=True, check=False
    )


def test_a_silent_command_is_announced_and_timed() -> None:
    done = say("sh", "-c", "echo noise; echo noise >&2")
    assert re.fullmatch(r"installing \.* done in \d+ s\n", done.stdout)
    assert done.stderr == ""


def test_dots_come_while_it_takes_its_time() -> None:
    assert re.fullmatch(r"installing \.+ done in \d+ s\n", say("sleep", "5").stdout)


def test_a_failure_keeps_its_status_and_shows_what_was_said() -> None:
    done = say("sh", "-c", "echo 'no matching hash'; exit 7")
    assert done.returncode == 7
    assert done.stdout.endswith(" failed\n")
    assert "no matching hash" in done.stderr


def test_busy_loops_run_beside_a_command_and_end_with_it() -> None:
    """The command's parent has one child for each core, and itself."""
    look = "cat /proc/$PPID/task/$PPID/children; exit 7"
    done = subprocess.run(
        [str(BUSY), "sh", "-c", look], capture_output=True, text=True, check=False
    )
    children = [Path("/proc", pid) for pid in done.stdout.split()]
    assert done.returncode == 7
    assert len(children) == os.sysconf("SC_NPROCESSORS_ONLN") + 1
    wait_until(lambda: not any(child.exists() for child in children), "a loop goes on")


def test_every_installation_of_the_makefile_says_so() -> None:
    text = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if re.search(r"pip install|npm ci", line)]
    assert len(lines) >= 5
    for line in lines:
        assert "$(SAY)" in line or "cd $(dir" in line, line


def check_picture(path: Path) -> None:
    text = path.read_text("utf-8")
    ElementTree.fromstring(text)
    assert not re.search(r'(?:href|src|url\()\s*=?\s*["\']?https?:', text)
    plain = re.sub(r"<[^>]+>", "", text).replace("&#160;", " ")
    for words in ("quietswap demo", "simulated", "sandwiched", "searcher's gain", "demo passed"):
        assert words in plain.replace("&#x27;", "'"), words


def test_the_picture_in_the_readme_is_of_the_demo() -> None:
    assert "](docs/_static/demo.svg)" in (ROOT / "README.md").read_text("utf-8")
    check_picture(DOCS / "_static" / "demo.svg")


def test_the_pictures_of_the_page_are_small_and_shown() -> None:
    pictures = sorted((DOCS / "_static").glob("web-*"))
    assert [one.name for one in pictures] == [
        f"web-{name}.webp" for name in ("confirmed", "loss", "quote", "review")
    ]
    for picture in pictures:
        assert picture.stat().st_size <= 100_000, picture.name
        assert f"](_static/{picture.name})" in (DOCS / "web.md").read_text("utf-8"), picture.name


def test_the_first_screen_has_what_decides() -> None:
    """In this order: what it is, gain and cost, the commands, the page, what else, the zero tip."""
    text = (ROOT / "README.md").read_text("utf-8")
    places = [
        text.index(words)
        for words in (
            "simulates each route", "593 USDC (1.00 %)", "takes no fee", "nobody promises how long",
            "make demo    # the whole job on a local test network; downloads 410 MB",
            "50 s with empty caches and 12 s again", "docs/_static/web-quote.webp",
            "CoW Swap, UniswapX, 1inch Fusion", "MEV Blocker's RPC URL",
            "**Know this first.** The interface prescribes a priority fee (tip) of zero",
            "node of your own", "docs/README.md", "| Not included |",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert text[: places[-1]].count("\n") <= 75


def test_the_readme_tells_what_the_demo_shows() -> None:
    """Loss and sources are those of the picture, and no source of it is missing."""
    plain = re.sub(r"<[^>]+>", "", (DOCS / "_static" / "demo.svg").read_text("utf-8"))
    plain = plain.replace("&#160;", " ")
    [(loss, share)] = re.findall(r"lost +([\d,.]+) USDC \((1\.\d\d) %\)", plain)
    paid = [
        float(text.replace(",", ""))
        for text in re.findall(r"  ([\d,]+\.\d{6})  [\d,]+\.\d{6} ", plain)
    ]
    gain = f"{(max(paid) / min(paid) - 1) * 100:.2f} %"
    text = (ROOT / "README.md").read_text("utf-8")
    assert f"{round(float(loss))} USDC ({share} %)" in text
    assert f"pays {gain} more than the worst" in text
    assert "uniswap" in plain


def test_the_glossary_has_the_words_a_newcomer_meets() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", (DOCS / "glossary.md").read_text(), re.M)
    terms = [term.lower() for term, _ in rows[1:]]
    assert terms == sorted(terms, key=lambda term: term.split(",")[0])
    wanted = {"relay", "sandwich", "tier", "slippage", "basis point, bps", "private order flow"}
    assert wanted <= set(terms)
    assert all(meaning.strip().endswith(".") for _, meaning in rows[1:])
