"""The reverse proxy, the Ingress and the ServiceMonitor: they let in what they should, no more."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from quietswap.api.public_pages import public_pages
from quietswap.api.routes import OPERATIONS
from quietswap.sandbox.ports import free_port
from tests import loopback
from tests.deploy.files import DEPLOY, NODE, documents, good_settings
from tests.forked import Forked, without_settings
from tests.waiting import WITHIN_S, wait_until

PUBLIC = {"/api/", "/docs", "/openapi.json"}
NGINX = (DEPLOY / "nginx.conf").read_text("utf-8")
[INGRESS] = documents("ingress.yaml")
[MONITOR] = documents("servicemonitor.yaml")
[SERVICE] = [found for found in documents("kubernetes.yaml") if found["kind"] == "Service"]


def directives(text: str) -> list[tuple[str, ...]]:
    """Return the words of each nginx directive; blocks must be closed and lines ended."""
    plain = re.sub(r"(?m)^\s*#.*$", "", text)
    assert plain.count("{") == plain.count("}")
    for line in filter(None, map(str.strip, plain.splitlines())):
        assert line[-1] in "{};", line
    return [tuple(part.split()) for part in re.split(r"[;{}]", plain) if part.strip()]


def test_what_is_public_exists() -> None:
    pages = set(public_pages(docs=True))
    assert PUBLIC - {"/api/"} <= pages
    assert all(operation.path.startswith("/api/") for operation in OPERATIONS)


def test_nginx_forwards_these_paths_alone() -> None:
    places = [words for words in directives(NGINX) if words[0] == "location"]
    assert {words[-1] for words in places} == PUBLIC | {"/"}
    assert re.search(r"location / \{\s*return 404;\s*\}", NGINX)
    assert NGINX.count("proxy_pass http://quietswap;") == len(PUBLIC)


def test_nginx_agrees_with_the_example_settings() -> None:
    settings = good_settings(NODE, DEPLOY / "quietswap.toml")
    found = directives(NGINX)
    assert ("server", f"{settings.server.host}:{settings.server.port}") in found
    assert settings.server.trusted_proxies == ("127.0.0.1",)
    assert ("proxy_set_header", "X-Forwarded-For", "$proxy_add_x_forwarded_for") in found
    assert ("ssl_protocols", "TLSv1.3") in found
    assert ("client_max_body_size", "1m") in found
    assert settings.server.max_body_bytes == 1 << 20


def test_the_example_settings_answer_to_the_host_that_nginx_sends(tmp_path: Path) -> None:
    assert ("proxy_set_header", "Host", "$host") in directives(NGINX)
    names = {name for words in directives(NGINX) if words[0] == "server_name" for name in words[1:]}
    assert names == {INGRESS["spec"]["rules"][0]["host"]}
    with served(tmp_path) as service:
        for name in names:
            path = "/api/v1/mev/wrap/info"
            assert service.get(path, headers={"Host": name}).status_code == 401
            assert service.get(path, headers={"Host": f"other-{name}"}).status_code == 421
        assert service.get("/healthz").status_code == 200  # by the address


@contextmanager
def served(folder: Path) -> Iterator[httpx.Client]:
    """Serve with deploy/quietswap.toml; only database, port and node are of this test."""
    port = free_port()
    own = {"QUIETSWAP_STORAGE__URL": f"sqlite:///{folder / 'own.sqlite3'}"}
    words = ["serve", "--port", str(port), "--settings", str(DEPLOY / "quietswap.toml")]
    process = Forked(words, without_settings() | NODE | own)
    try:
        with loopback.Client(base_url=f"http://127.0.0.1:{port}") as client:
            _until_it_answers(process, client)
            yield client
    finally:
        process.terminate()
        assert process.wait(WITHIN_S) == 0


def _until_it_answers(process: Forked, client: httpx.Client) -> None:
    def answers() -> bool:
        assert process.poll() is None
        try:
            return bool(client.get("/healthz"))
        except httpx.TransportError:
            return False

    wait_until(answers, "the service does not answer")


def test_nginx_never_sends_a_submission_twice() -> None:
    """Without `non_idempotent` a POST that was handed over is not tried again."""
    [words] = [words for words in directives(NGINX) if words[0] == "proxy_next_upstream"]
    assert "non_idempotent" not in words


def test_the_ingress_leads_to_the_service_by_these_paths_alone() -> None:
    [rule] = INGRESS["spec"]["rules"]
    paths: list[dict[str, Any]] = rule["http"]["paths"]
    assert {path["path"] for path in paths} == PUBLIC
    [port] = SERVICE["spec"]["ports"]
    for path in paths:
        target = path["backend"]["service"]
        assert target == {"name": SERVICE["metadata"]["name"], "port": {"name": port["name"]}}
        assert path["pathType"] == ("Prefix" if path["path"].endswith("/") else "Exact")
    assert INGRESS["spec"]["tls"][0]["hosts"] == [rule["host"]]


def test_the_monitor_finds_the_service_and_names_the_job_as_the_alerts_do() -> None:
    assert (MONITOR["apiVersion"], MONITOR["kind"]) == (
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
    )
    labels = SERVICE["metadata"]["labels"]
    assert MONITOR["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert labels[MONITOR["spec"]["jobLabel"]] == "quietswap"
    assert 'job="quietswap"' in (DEPLOY / "alerts.yaml").read_text("utf-8")
    [endpoint] = MONITOR["spec"]["endpoints"]
    assert endpoint["port"] == SERVICE["spec"]["ports"][0]["name"]
    assert endpoint["path"] == "/metrics"
