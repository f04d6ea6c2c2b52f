"""The image: what goes into it, as whom it runs, and how it tells that it is alive."""

import fnmatch
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY, IMAGE_ENVIRONMENT, NODE, ROOT, good_settings
from tests.forked import without_settings

TEXT = (DEPLOY / "Dockerfile").read_text("utf-8")


def instructions() -> list[tuple[str, str]]:
    """Return keyword and arguments of each instruction, continued lines joined."""
    lines = [line for line in TEXT.splitlines() if line and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (word, rest.strip()) for word, _, rest in (li.partition(" ") for li in joined.split("\n"))
    ]


def sent_to_the_builder(path: str) -> bool:
    """Return whether the ignore file lets a path through; the last pattern that matches decides."""
    sent = True
    for line in (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines():
        pattern = line.removeprefix("!")
        if line and not line.startswith("#") and fnmatch.fnmatch(path, pattern):
            sent = line.startswith("!")
    return sent


def test_it_is_built_in_two_stages_from_one_base() -> None:
    bases = [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.1[12]-slim(-\w+)?@sha256:[0-9a-f]{64}", bases[0])


def test_no_image_of_others_is_named_by_a_tag_alone() -> None:
    found = []
    for name in ("Dockerfile", "compose.yaml", "kubernetes.yaml"):
        text = (DEPLOY / name).read_text("utf-8")
        found += re.findall(r"^(?:FROM|\s*image:) +(\S+)", text, re.M)
    foreign = [image for image in found if not image.startswith("quietswap:")]
    assert len(foreign) == 4
    for image in foreign:
        assert re.search(r"@(sha256:[0-9a-f]{64}$|\$\{\w+_DIGEST:\?)", image), image


def test_it_names_no_host() -> None:
    assert "://" not in TEXT
    assert "index-url" not in TEXT
    for name in ("Dockerfile", "compose.yaml", "kubernetes.yaml"):
        for image in re.findall(r"(?:^FROM|image:) +(\S+)", (DEPLOY / name).read_text(), re.M):
            first, _, rest = image.partition("/")
            assert not rest or "." not in first, image


def test_everything_it_copies_is_there_and_sent_to_the_builder() -> None:
    copied = [rest for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    assert copied
    for rest in copied:
        *sources, _ = rest.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert sent_to_the_builder(source), source


@pytest.mark.parametrize("path", [".git", ".venv", "tests", "node_modules", "quietswap.sqlite3"])
def test_nothing_else_is_sent_to_the_builder(path: str) -> None:
    assert not sent_to_the_builder(path)


def test_what_is_installed_is_pinned_by_hash() -> None:
    installs = [rest for word, rest in instructions() if word == "RUN" and "install " in rest]
    [dependencies, package] = [rest for rest in installs if rest.startswith("pip ")]
    served, backend = dependencies.split("&&")
    assert "--python /opt/quietswap" in served
    assert "--require-hashes -r requirements/server.txt" in served
    assert "--require-hashes -r requirements/runtime.txt" in backend
    assert "--python" not in backend
    assert package.count("--no-deps") == 2
    assert "--no-build-isolation" in package


def _pins(name: str) -> dict[str, str]:
    """Return each pinned package with its version and hashes."""
    text = (ROOT / "requirements" / name).read_text("utf-8")
    return dict(re.findall(r"^([\w.-]+)(==(?:.|\n(?= ))*)", text, re.M))


def test_no_build_backend_and_no_second_server_is_in_it() -> None:
    """`make dist` tries the service with exactly these packages (`tools/check_wheel.sh`)."""
    served, every = _pins("server.txt"), _pins("runtime.txt")
    assert served.items() < every.items()
    assert not served.keys() & {"hatchling", "editables", "uvicorn", "mcp"}
    assert served.keys() >= {"granian", "asyncpg", "redis", "opentelemetry-sdk"}


def test_it_runs_as_nobody_special() -> None:
    users = [rest for word, rest in instructions() if word == "USER"]
    assert users == ["10001:10001"]
    words = [word for word, _ in instructions()]
    assert words.index("USER") > max(i for i, word in enumerate(words) if word in ("COPY", "RUN"))


def test_its_defaults_refuse_plain_http_until_a_proxy_is_promised() -> None:
    [text] = [rest for word, rest in instructions() if word == "ENV"]
    given = dict(re.findall(r"(QUIETSWAP_\w+)=(\S+)", text))
    assert given == IMAGE_ENVIRONMENT
    with pytest.raises(AssertionError, match=r"server\.behind_tls_proxy"):
        good_settings(given | NODE)
    good_settings(given | NODE | {"QUIETSWAP_SERVER__BEHIND_TLS_PROXY": "true"})


def test_the_wheel_holds_what_the_service_reads(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    command += ["--disable-pip-version-check", "--no-index", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    [wheel] = tmp_path.glob("quietswap-*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    wanted = {
        str(path.relative_to(source))
        for path in (source / "quietswap").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert wanted <= packed


class Alive(BaseHTTPRequestHandler):
    """Answers as the service does; `status` is what /healthz says."""

    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    class Handler(Alive):
        pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def healthcheck(port: int, **extra: str) -> int:
    environment = without_settings() | {"QUIETSWAP_SERVER__PORT": str(port), **extra}
    command = [sys.executable, str(DEPLOY / "healthcheck.py")]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


def test_the_health_check_passes_while_the_service_answers(server: HTTPServer) -> None:
    assert healthcheck(server.server_port) == 0
    assert healthcheck(server.server_port, http_proxy="http://127.0.0.1:1") == 0


def test_the_health_check_fails_on_a_bad_status_and_on_nobody(server: HTTPServer) -> None:
    server.RequestHandlerClass.status = 500  # type: ignore[attr-defined]
    assert healthcheck(server.server_port) == 1
    server.server_close()
    assert healthcheck(server.server_port) == 1


def test_the_health_check_reads_the_settings_file(server: HTTPServer, tmp_path: Path) -> None:
    file = tmp_path / "quietswap.toml"
    file.write_text(f"[server]\nport = {server.server_port}\n", "utf-8")
    environment = without_settings() | {"QUIETSWAP_SETTINGS": str(file)}
    command = [sys.executable, str(DEPLOY / "healthcheck.py")]
    assert subprocess.run(command, env=environment, check=False).returncode == 0
