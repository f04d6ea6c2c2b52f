"""The assets: their policy and caching, their size, and that they are built from the sources."""

import gzip
import json
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import httpx
import pytest

from tests.waiting import LONG_S
from tests.web.conftest import Open

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "web"
ASSETS = ROOT / "src" / "quietswap" / "service" / "web" / "assets"
MOST_BYTES = 65 * 1024
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}


def policy(answer: httpx.Response) -> dict[str, str]:
    parts = answer.headers["content-security-policy"].split("; ")
    return dict(part.split(" ", 1) for part in parts)


def needs(package: str) -> str:
    """Return the program of a package of `web/`, or skip."""
    node = shutil.which("node")
    if node is None or not (SOURCES / "node_modules" / package).is_dir():
        pytest.skip(f"{package} is not installed in web/node_modules: `make setup-dev` does it")
    return node


async def test_the_page_may_do_little_and_stand_in_no_frame(visit: Open) -> None:
    answer = await visit().get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert policy(answer) == POLICY
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-cache"
    assert "set-cookie" not in answer.headers


async def test_the_page_names_only_own_files_and_no_inline_script(visit: Open) -> None:
    client = visit()
    html = (await client.get("/")).text
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\son\w+=|javascript:", html)
    names = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert len(names) == 3
    for name in names:
        assert re.fullmatch(r"/assets/[a-z]+-[0-9a-f]{12}\.(?:js|css|svg)", name)
        answer = await client.get(name)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert policy(answer) == POLICY


@pytest.mark.parametrize("coding", ["br", "gzip", "identity"])
async def test_assets_come_compressed_as_the_browser_accepts(visit: Open, coding: str) -> None:
    client = visit()
    for file in ASSETS.glob("*.js"):
        headers = {"accept-encoding": coding}
        async with client.stream("GET", f"/assets/{file.name}", headers=headers) as answer:
            raw = b"".join([part async for part in answer.aiter_raw()])
        assert answer.headers.get("content-encoding", "identity") == coding
        assert answer.headers["vary"] == "accept-encoding"
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        if coding == "br":
            assert raw == file.with_name(file.name + ".br").read_bytes()
        else:
            assert (gzip.decompress(raw) if coding == "gzip" else raw) == file.read_bytes()


async def test_a_refused_coding_is_not_used(visit: Open) -> None:
    [file] = ASSETS.glob("*.css")
    headers = {"accept-encoding": "br;q=0, gzip;q=0.0, identity"}
    answer = await visit().get(f"/assets/{file.name}", headers=headers)
    assert "content-encoding" not in answer.headers


async def test_an_unchanged_file_is_not_sent_again(visit: Open) -> None:
    client = visit()
    etag = (await client.get("/")).headers["etag"]
    again = await client.get("/", headers={"if-none-match": etag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"]


PERSON = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/orders", "/order/xyz", "/nothing", "/web/nothing", "/a%0Ab"])
async def test_a_person_at_a_wrong_address_is_shown_the_way_back(visit: Open, path: str) -> None:
    answer = await visit().get(path, headers=PERSON)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert policy(answer) == POLICY
    assert 'href="/"' in answer.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html;q=0, */*"])
async def test_a_program_at_a_wrong_address_gets_the_error(visit: Open, accept: str) -> None:
    answer = await visit().get("/orders", headers={"accept": accept})
    assert (answer.status_code, answer.json()["error"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/api/v1/nothing", 401), ("POST", "/orders", 404), ("POST", "/", 405)],
)
async def test_what_no_person_opens_is_answered_as_ever(
    visit: Open, method: str, path: str, status: int
) -> None:
    answer = await visit().request(method, path, headers=PERSON)
    assert (answer.status_code, answer.json()["ok"]) == (status, False)


async def test_the_words_are_explained(visit: Open) -> None:
    answer = await visit().get("/web/help", headers=PERSON)
    assert answer.status_code == 200
    assert policy(answer) == POLICY
    for term in ("Slippage", "Fee cap", "nonce", "gwei", "Price impact", "RPC URL"):
        assert term in answer.text


@pytest.mark.parametrize("path", ["/assets/", "/assets/../web.py", "/assets/x.js", "/index.html"])
async def test_there_is_no_other_file(visit: Open, path: str) -> None:
    assert (await visit().get(path)).status_code == 404


def test_script_and_style_are_small() -> None:
    small = [file.stat().st_size for file in ASSETS.glob("*.br")]
    assert len(small) == len([*ASSETS.glob("*.js"), *ASSETS.glob("*.css")]) > 0
    assert sum(small) <= MOST_BYTES


def test_assets_are_package_data() -> None:
    shipped = {
        entry.name
        for entry in resources.files("quietswap.service.web").joinpath("assets").iterdir()
    }
    assert shipped == {file.name for file in ASSETS.iterdir()}


def test_the_sources_give_these_assets(tmp_path: Path) -> None:
    """Brotli is compared by its content: its bytes depend on the version of Node."""
    node = needs("esbuild")
    built = tmp_path / "assets"
    command = [node, str(SOURCES / "build.mjs"), str(built)]
    subprocess.run(command, check=True, capture_output=True, timeout=LONG_S)
    names = sorted(file.name for file in ASSETS.iterdir())
    assert sorted(file.name for file in built.iterdir()) == names, "run `make web`, and commit"
    for name in names:
        if name.endswith(".br"):
            continue
        assert (built / name).read_bytes() == (ASSETS / name).read_bytes(), name
    script = (
        "const {brotliDecompressSync: d} = await import('node:zlib');"
        "const {readFileSync: r} = await import('node:fs');"
        "for (const f of process.argv.slice(1)) if (!d(r(f + '.br')).equals(r(f))) throw f"
    )
    files = [str(ASSETS / name) for name in names if f"{name}.br" in names]
    checked = [node, "--input-type=module", "-e", script, *files]
    subprocess.run(checked, check=True, capture_output=True, timeout=LONG_S)


def test_the_lock_file_names_no_registry() -> None:
    for folder in (SOURCES, ROOT / "tests" / "browser"):
        lock = json.loads((folder / "package-lock.json").read_text("utf-8"))
        assert lock["packages"]
        assert not [name for name, one in lock["packages"].items() if "resolved" in one]


STYLES = (
    SOURCES / "src" / "app.css",
    ROOT / "src" / "quietswap" / "service" / "operator" / "assets" / "operator.css",
    ROOT / "src" / "quietswap" / "service" / "server" / "docs.css",
)


@pytest.mark.parametrize("style", STYLES, ids=lambda path: path.name)
def test_no_colour_depends_on_the_window(style: Path) -> None:
    """`Page.looks` in tests/browser shows a state in each scheme once, in one of two windows."""
    blocks = re.findall(
        r"^@media \((?:min|max)-width[^{]*\{(.*?)^\}", style.read_text("utf-8"), re.S | re.M
    )
    rules = [rule for block in blocks for rule in re.findall(r"([^{}]+)\{([^{}]*)\}", block)]
    assert rules
    coloured = [names.strip() for names, body in rules if re.search(r"color|background", body)]
    assert [names for names in coloured if "::" not in names] == []
