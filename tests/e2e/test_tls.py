"""`quietswap serve` speaks TLS 1.3 only, and plain HTTP on loopback only."""

import os
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from quietswap.sandbox.ports import free_port
from tests import forked, loopback
from tests.forked import Forked
from tests.waiting import WITHIN_S, wait_until

pytestmark = pytest.mark.xdist_group("tls")


@dataclass
class Secured:
    """A running service behind TLS and a client context that trusts it."""

    port: int
    trust: ssl.SSLContext


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    cert, key = folder / "cert.pem", folder / "key.pem"
    certificate.cert_chain_pems[0].write_to_path(cert)
    _as_pkcs8(certificate, key)
    port = free_port()
    environment = os.environ | {
        "QUIETSWAP_NODE__URLS": "http://127.0.0.1:9",
        "QUIETSWAP_STORAGE__URL": f"sqlite:///{folder / 'db.sqlite3'}",
    }
    words = ["serve", "--port", str(port), "--tls-cert", str(cert), "--tls-key", str(key)]
    process = Forked(words, environment)
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    try:
        _until_it_listens(port, process)
        yield Secured(port, trust)
    finally:
        process.terminate()
        process.wait(WITHIN_S)


def _as_pkcs8(certificate: trustme.LeafCert, path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as s

    key = s.load_pem_private_key(certificate.private_key_pem.bytes(), None)
    pem = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    path.write_bytes(pem)


def _until_it_listens(port: int, process: Forked) -> None:
    def listens() -> bool:
        assert process.poll() is None
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listens, "the service does not listen")


def test_a_handshake_that_never_ends_is_cut(secured: Secured) -> None:
    with socket.create_connection(("127.0.0.1", secured.port), timeout=WITHIN_S) as silent:
        assert silent.recv(1) == b""


def test_a_tls_1_3_client_is_served(secured: Secured) -> None:
    with loopback.Client(verify=secured.trust) as client:
        answer = client.get(f"https://127.0.0.1:{secured.port}/api/v1/mev/wrap/info")
    assert answer.status_code == 401
    assert answer.json()["error"] == "UNAUTHORIZED"


def test_a_tls_1_2_client_is_refused(secured: Secured) -> None:
    secured_old = ssl.create_default_context()
    secured_old.check_hostname = False
    secured_old.verify_mode = ssl.CERT_NONE
    secured_old.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        socket.create_connection(("127.0.0.1", secured.port)) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        secured_old.wrap_socket(plain)


def test_the_negotiated_version_is_1_3(secured: Secured) -> None:
    with (
        socket.create_connection(("127.0.0.1", secured.port)) as plain,
        secured.trust.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted,
    ):
        assert encrypted.version() == "TLSv1.3"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_plain_http_beyond_loopback_is_refused_at_start(host: str) -> None:
    environment = os.environ | {"QUIETSWAP_NODE__URLS": "http://127.0.0.1:9"}
    words = ["serve", "--check", "--host", host]
    done = forked.run(words, environment)
    assert done.returncode == 2
    assert "without TLS" in done.stderr
    environment["QUIETSWAP_SERVER__BEHIND_TLS_PROXY"] = "true"
    done = forked.run(words, environment)
    assert done.returncode == 0, done.stderr


def test_the_end_of_the_certificate_is_a_metric(secured: Secured) -> None:
    with loopback.Client(verify=secured.trust) as client:
        text = client.get(f"https://127.0.0.1:{secured.port}/metrics").text
    [line] = [li for li in text.splitlines() if li.startswith("quietswap_tls_certificate_expiry")]
    name, _, value = line.rpartition(" ")
    assert name.endswith('cert.pem"}')
    assert float(value) > time.time() + 86_400
