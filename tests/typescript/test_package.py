"""The package as it is published: its types, its content, its size, and its use from a folder."""

import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from tools import typescript_data

from tests.typescript.package import BIN, MODULES, PACKAGE, ROOT, needs_packages
from tests.waiting import LONG_S

pytestmark = pytest.mark.xdist_group("typescript")
MOST_FIRST, MOST = 22 * 1024, 36 * 1024
MISUSE = """
import { QuietswapClient, type OrderStatus, type SwapQuote } from "quietswap";

export async function misuse(client: QuietswapClient, quote: SwapQuote, status: OrderStatus) {
  // @ts-expect-error: an amount is a bigint
  await client.swap({ sellToken: "0x", buyToken: "0x", sellAmount: 1 }, () => "0x");
  // @ts-expect-error: the quote has no such member
  quote.buyAmuont;
  // @ts-expect-error: amounts of answers are decimal strings
  quote.sellAmount = 1n;
  // @ts-expect-error: a status that does not exist
  if (status.status === "done") return;
  // @ts-expect-error: an approval that does not exist
  await client.swap({ sellToken: "", buyToken: "", sellAmount: 1n, approval: "all" }, () => "0x");
}
"""


def test_the_rules_are_those_of_the_python_client() -> None:
    text = typescript_data.RULES.read_text("utf-8")
    assert text == typescript_data.rules(), "run python -m tools.typescript_data"


@needs_packages
def test_the_types_are_those_of_the_openapi_document() -> None:
    text = typescript_data.TYPES.read_text("utf-8")
    assert text == typescript_data.types(), "run python -m tools.typescript_data"


def test_version_license_and_lock() -> None:
    package = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    readme = (PACKAGE / "README.md").read_text("utf-8")
    assert "repository" not in package, "the README must then name it, too"
    assert not re.search(r"https?://(?!swap\.example)", readme), (
        "an address that package.json lacks"
    )
    assert "not published to a registry" in readme
    lock = json.loads((PACKAGE / "package-lock.json").read_text("utf-8"))["packages"]
    asked = package["devDependencies"]
    assert {name: lock[f"node_modules/{name}"]["version"] for name in asked} == asked
    assert not any("resolved" in entry for entry in lock.values())
    assert "dependencies" not in package
    assert (PACKAGE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_no_file_is_long_and_no_type_is_bypassed() -> None:
    for path in (PACKAGE / "src").glob("*.ts"):
        text = path.read_text("utf-8")
        assert text.count("\n") <= 300, path
        code = re.sub(r"/\*.*?\*/|//[^\n]*|\"any\"", "", text, flags=re.S)
        assert not re.search(r"\bany\b|@ts-(nocheck|ignore)", code), path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of another project, in which the packed package is installed."""
    source = tmp_path_factory.mktemp("package") / "typescript"
    ignored = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(PACKAGE, source, ignore=ignored)
    (source / "node_modules").symlink_to(MODULES)
    _run(["npm", "pack", "--loglevel=error", "--no-update-notifier"], source)
    [packed] = source.glob("*.tgz")
    project = tmp_path_factory.mktemp("project")
    with tarfile.open(packed) as archive:
        archive.extractall(project / "node_modules", filter="data")
    modules = project / "node_modules"
    (modules / "package").rename(modules / "quietswap")
    for name in ("viem", "@types", "abitype", "ox", "@noble", "@scure"):
        if (MODULES / name).exists():
            (modules / name).symlink_to(MODULES / name)
    (project / "package.json").write_text('{"type": "module"}', "utf-8")
    return project


def _run(command: list[str | Path], where: Path) -> str:
    done = subprocess.run(
        command, cwd=where, capture_output=True, text=True, timeout=LONG_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_packages
def test_it_holds_code_types_and_page_and_nothing_else(folder: Path) -> None:
    root = folder / "node_modules" / "quietswap"
    found = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    modules = {
        str(path.relative_to(PACKAGE / "src").with_suffix(""))
        for path in (PACKAGE / "src").rglob("*.ts")
    }
    code = {f"dist/{name}{end}" for name in modules for end in (".js", ".d.ts")}
    assert found == code | {"package.json", "README.md", "LICENSE"}
    for path in root.rglob("*"):
        assert path.is_dir() or str(ROOT) not in path.read_text("utf-8"), path


@needs_packages
def test_a_project_with_strict_types_uses_it(folder: Path) -> None:
    """The programs of both pages compile, misuse does not, and Node loads it."""
    pages = (PACKAGE / "README.md", ROOT / "docs" / "typescript.md")
    page = "\n".join(path.read_text("utf-8") for path in pages)
    for number, block in enumerate(re.findall(r"^```ts\n(.*?)^```", page, re.M | re.S)):
        (folder / f"page{number}.ts").write_text(block, "utf-8")
    (folder / "misuse.ts").write_text(MISUSE, "utf-8")
    command = [
        BIN / "tsc", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess",
        "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "nodenext",
        *sorted(folder.glob("*.ts")),
    ]  # fmt: skip
    _run(command, folder)
    script = """
    import * as quietswap from "quietswap";
    const client = new quietswap.QuietswapClient({ url: "http://127.0.0.1:9", apiKey: "x" });
    const error = await client.orderStatus("ord_1").catch((thrown) => thrown);
    console.log(error instanceof quietswap.ServiceUnreachable, error.isTransient, error.message);
    """
    told = _run(["node", "--input-type=module", "--eval", script], folder)
    assert told == (
        "true true the service at http://127.0.0.1:9 does not answer (connection failed)\n"
    )


@needs_packages
def test_it_is_small(folder: Path) -> None:
    """Compressed by brotli, without viem: what is loaded at first, and all of it."""
    lazy = (
        "approvals", "batched-quote", "cancel", "ether-swap", "events", "open-orders",
        "reference-price", "simulation", "stream", "wrap",
    )  # fmt: skip
    first = _bundled(folder, *(f"--external:./{name}.js" for name in lazy))
    code = (folder / "bundle.mjs").read_text("utf-8")
    assert re.findall(r'from\s*"([^"]+)"', code) == ["viem"], "what is lazy is imported at once"
    assert set(re.findall(r'import\("\./([a-z-]+)\.js"\)', code)) == set(lazy)
    assert first <= MOST_FIRST, first
    whole = _bundled(folder)
    assert whole <= MOST, whole


def _bundled(folder: Path, *options: str) -> int:
    entry = folder / "node_modules" / "quietswap" / "dist" / "index.js"
    script = """
    const { readFileSync } = require("node:fs");
    const { brotliCompressSync } = require("node:zlib");
    console.log(brotliCompressSync(readFileSync(process.argv[1])).length);
    """
    out = folder / "bundle.mjs"
    command: list[str | Path] = [
        BIN / "esbuild", entry, "--bundle", "--minify", "--format=esm", "--target=es2022",
        "--external:viem", "--log-level=error", f"--outfile={out}", *options,
    ]  # fmt: skip
    _run(command, folder)
    return int(_run(["node", "--eval", script, out], folder))
