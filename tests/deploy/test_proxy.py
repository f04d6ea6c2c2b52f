"""The reverse proxy, the Ingress and the ServiceMonitor: they let in what they should, no more."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from quietswap.sandbox.ports import free_port
from quietswap.service.operator import page
from quietswap.service.server import web_assets as assets
from quietswap.service.server.routes import OPERATIONS
from quietswap.service.server.web_assets import public_pages
from quietswap.service.wallet_rpc import endpoint
from quietswap.service.web import cookie
from tests import loopback
from tests.deploy.files import DEPLOY, NODE, documents, good_settings
from tests.forked import Forked, without_settings
from tests.waiting import WITHIN_S, wait_until

API = {"/api/": "Prefix", "/docs": "Exact", "/openapi.json": "Exact"}
PAGE = {"/": "Exact", "/assets/": "Prefix", "/web/": "Prefix"}
RPC, OPERATOR = {"/rpc/": "Prefix"}, {"/operator": "Prefix"}
PUBLIC = API | PAGE | RPC | OPERATOR
NEVER = ("/metrics", "/readyz", "/healthz")
NGINX = (DEPLOY / "nginx.conf").read_text("utf-8")
INGRESSES = {found["metadata"]["name"]: found for found in documents("ingress.yaml")}
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
    assert API.keys() - {"/api/"} <= set(public_pages(docs=True))
    assert all(operation.path.startswith("/api/") for operation in OPERATIONS)
    pages = {*assets.web_pages({"/": "index.html"}), cookie.PATH, cookie.STATUS_PATH}
    folders = ("/assets/", "/web/")
    assert {next(filter(path.startswith, folders), path) for path in pages} == set(PAGE)
    assert ("/rpc/{token}", *OPERATOR) == (endpoint.PATH, page.PATH)


def test_nginx_forwards_these_paths_alone() -> None:
    places = [words for words in directives(NGINX) if words[0] == "location"]
    kinds = {words[-1]: "Exact" if "=" in words else "Prefix" for words in places[:-1]}
    assert kinds.pop("@away"), "nobody can ask for a named location"
    assert kinds == PUBLIC
    assert places[-1] == ("location", "/")
    assert re.search(r"location / \{\s*return 404;\s*\}", NGINX)
    assert NGINX.count("proxy_pass http://quietswap;") == len(PUBLIC)


def test_secrets_in_a_path_are_in_no_access_log() -> None:
    assert re.search(r"location /rpc/ \{\s*access_log off;", NGINX)
    annotations = INGRESSES["quietswap-rpc"]["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/enable-access-log"] == "false"


def test_operators_come_from_named_addresses_alone() -> None:
    assert re.search(r"location /operator \{(\s*allow \S+;)+\s*deny all;", NGINX)
    annotations = INGRESSES["quietswap-operator"]["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/whitelist-source-range"] == "127.0.0.1/32"


def test_nginx_agrees_with_the_example_settings() -> None:
    settings = good_settings(NODE, DEPLOY / "quietswap.toml")
    found = directives(NGINX)
    assert ("server", f"{settings.server.host}:{settings.server.port}", "max_fails=0") in found
    assert settings.server.trusted_proxies == ("127.0.0.1",)
    assert ("proxy_set_header", "X-Forwarded-For", "$proxy_add_x_forwarded_for") in found
    assert ("ssl_protocols", "TLSv1.3") in found
    assert ("client_max_body_size", "1m") in found
    assert settings.server.max_body_bytes == 1 << 20


def test_the_example_settings_answer_to_the_host_that_nginx_sends(tmp_path: Path) -> None:
    assert ("proxy_set_header", "Host", "$host") in directives(NGINX)
    names = {name for words in directives(NGINX) if words[0] == "server_name" for name in words[1:]}
    assert names == {found["spec"]["rules"][0]["host"] for found in INGRESSES.values()}
    with served(tmp_path) as service:
        for name in names:
            path = "/api/v1/mev/wrap/info"
            assert service.get(path, headers={"Host": name}).status_code == 401
            assert service.get(path, headers={"Host": f"other-{name}"}).status_code == 421
        assert service.get("/healthz").status_code == 200  # by the address


@contextmanager
def served(folder: Path, **more: str) -> Iterator[httpx.Client]:
    """Serve with deploy/quietswap.toml; only database, port and node are of this test."""
    port = int(more.pop("QUIETSWAP_SERVER__PORT", free_port()))
    own = {"QUIETSWAP_STORAGE__URL": f"sqlite:///{folder / 'own.sqlite3'}"}
    words = ["serve", "--port", str(port), "--settings", str(DEPLOY / "quietswap.toml")]
    process = Forked(words, without_settings() | NODE | own | more)
    try:
        with loopback.Client(base_url=f"http://127.0.0.1:{port}") as client:
            _until_it_answers(process, client)
            yield client
    finally:
        process.terminate()
        assert process.wait(WITHIN_S) == 0


def _until_it_answers(
    process: "Forked | subprocess.Popen[bytes]", client: httpx.Client, path: str = "/healthz"
) -> None:
    def answers() -> bool:
        assert process.poll() is None
        try:
            return bool(client.get(path))
        except httpx.TransportError:
            return False

    wait_until(answers, "the service does not answer")


def test_nginx_never_sends_a_submission_twice() -> None:
    """Without `non_idempotent` a POST that was handed over is not tried again."""
    [words] = [words for words in directives(NGINX) if words[0] == "proxy_next_upstream"]
    assert "non_idempotent" not in words


def test_the_ingress_leads_to_the_service_by_these_paths_alone() -> None:
    assert INGRESSES.keys() == {"quietswap", "quietswap-rpc", "quietswap-operator"}
    kinds: dict[str, dict[str, str]] = {}
    [port] = SERVICE["spec"]["ports"]
    for name, found in INGRESSES.items():
        [rule] = found["spec"]["rules"]
        paths: list[dict[str, Any]] = rule["http"]["paths"]
        kinds[name] = {path["path"]: path["pathType"] for path in paths}
        for path in paths:
            target = path["backend"]["service"]
            assert target == {"name": SERVICE["metadata"]["name"], "port": {"name": port["name"]}}
        assert found["spec"]["tls"][0]["hosts"] == [rule["host"]]
    assert kinds == {
        "quietswap": API | PAGE, "quietswap-rpc": RPC, "quietswap-operator": OPERATOR
    }  # fmt: skip


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed here")
def test_nginx_itself_passes_on_what_is_public_and_nothing_else(tmp_path: Path) -> None:
    on = {"QUIETSWAP_WEB__ENABLED": "true", "QUIETSWAP_OPERATOR__ENABLED": "true"}
    with served(tmp_path, **on) as service, behind_nginx(tmp_path, service) as proxy:
        asked = {path: proxy.get(path).status_code for path in (*PUBLIC, *NEVER, "/other")}
        assert asked == {
            "/api/": 401, "/docs": 200, "/openapi.json": 200, "/rpc/": 404, "/": 200,
            "/assets/": 404, "/web/": 404, "/operator": 303,
            "/metrics": 404, "/readyz": 404, "/healthz": 404, "/other": 404,
        }  # fmt: skip
        assert proxy.get("/api/v1/mev/wrap/info").status_code == 401
        for path in ("/%6detrics", "/api/%2e%2e/metrics", "/api//..//readyz", "/rpc/..%2fmetrics"):
            assert proxy.get(path).status_code in (401, 404), path
        call = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
        secret = "qr_" + "ab" * 32
        assert proxy.post(f"/rpc/{secret}", json=call).json()["error"]["code"] == -32001
    log = (tmp_path / "access.log").read_text("utf-8")
    assert "/openapi.json" in log
    assert secret not in log


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed here")
def test_an_outage_is_a_json_answer_in_no_log_and_ends_with_itself(tmp_path: Path) -> None:
    """nginx writes the path of a request to its error log when it reaches no service."""
    secret = "qr_" + "cd" * 32
    with served(tmp_path) as service:
        where = service.base_url
    with (
        loopback.Client(base_url=where) as away,
        behind_nginx(tmp_path, away, path="/none") as proxy,
    ):
        for path in (f"/rpc/{secret}", "/api/v1/mev/wrap/info"):
            answer = proxy.get(path)
            assert (answer.status_code, answer.json()["error"]) == (503, "SERVICE_UNAVAILABLE")
        logs = [(tmp_path / name).read_text("utf-8") for name in ("access.log", "error.log")]
        assert not any(secret in log for log in logs)
        own = {"QUIETSWAP_SERVER__PORT": str(where.port)}
        with served(tmp_path, **own) as service:
            assert service.base_url == where
            assert proxy.get("/api/v1/mev/wrap/info").status_code == 401


@contextmanager
def behind_nginx(
    folder: Path, service: httpx.Client, path: str = "/healthz"
) -> Iterator[httpx.Client]:
    """Run deploy/nginx.conf until it answers `path`; ports, certificate and files are our own."""
    port, behind = free_port(), service.base_url.port
    issued = trustme.CA().issue_cert("quietswap.example")
    issued.cert_chain_pems[0].write_to_path(folder / "fullchain.pem")
    issued.private_key_pem.write_to_path(folder / "privkey.pem")
    text = NGINX.replace("127.0.0.1:8080", f"127.0.0.1:{behind}")
    text = re.sub(r"/etc/letsencrypt/live/\S+?/", f"{folder}/", text)
    text = re.sub(r"(?m)^\s*listen .*80;$", "", text)
    text = re.sub(r"listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;", text)
    text = re.sub(r"(?m)^\s*listen \[::\]:443 ssl;$", "", text)
    text = text.replace("return 301", f"listen 127.0.0.1:{free_port()}; return 301")
    own = f"access_log {folder}/access.log; client_body_temp_path {folder}/body;"
    own += f" proxy_temp_path {folder}/proxy;"
    main = f"pid {folder}/pid; error_log {folder}/error.log; events {{}} daemon off;"
    (folder / "nginx.conf").write_text(f"{main} http {{ {own}\n{text} }}\n", "utf-8")
    command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        url, host = f"https://127.0.0.1:{port}", {"Host": "quietswap.example"}
        with loopback.Client(base_url=url, headers=host, verify=False) as client:
            _until_it_answers(process, client, path)
            yield client
    finally:
        process.terminate()
        assert process.wait(WITHIN_S) == 0


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
