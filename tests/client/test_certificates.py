"""A certificate that is not trusted is named as such, with the way out; `ca_file` is that way."""

import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
import trustme
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from quietswap.cli import command
from quietswap.client import QuietswapClient, node_calls
from quietswap.client.errors import NodeUnreachable, ServiceUnreachable, UnexpectedResponse
from tests.client.fake_servers import WALLET

Serve = Callable[[bytes], str]


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


def self_signed(name: str = "127.0.0.1", *, is_authority: bool = False, days: int = 9) -> bytes:
    """Return key and certificate as `openssl req -x509` makes them, in one PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    end = datetime.now(UTC) + timedelta(days=days)
    kind = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    builder = x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(end - timedelta(days=20)).not_valid_after(end)
    builder = builder.add_extension(x509.SubjectAlternativeName([kind]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + builder.sign(key, hashes.SHA256()).public_bytes(pem)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    servers: list[ThreadingHTTPServer] = []

    def serving(pem: bytes) -> str:
        file = tmp_path / f"served-{len(servers)}.pem"
        file.write_bytes(pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"https://127.0.0.1:{server.server_port}"

    yield serving
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("pem", "says"),
    [
        (self_signed(), r"self-signed, or signed by an authority unknown here.*--ca-file FILE"),
        (self_signed(is_authority=True), r"marked as an authority.*CA:FALSE.*--ca-file FILE"),
    ],
    ids=["server", "authority"],
)
def test_a_self_signed_certificate_is_named(serve: Serve, pem: bytes, says: str) -> None:
    url = serve(pem)
    with QuietswapClient(url, "k", rpc_url=url) as client:
        with pytest.raises(
            ServiceUnreachable, match="the service at .* cannot be trusted: .*" + says
        ):
            client.wrap_info(WALLET)
        with pytest.raises(NodeUnreachable, match="the node at .* cannot be trusted: .*" + says):
            client.node(node_calls.CHAIN_ID)


@pytest.mark.parametrize(
    ("pem", "says"),
    [(self_signed("quietswap.test"), "for another host name"), (self_signed(days=-1), "expired")],
    ids=["host name", "expired"],
)
def test_a_trusted_certificate_may_still_be_wrong(
    serve: Serve, tmp_path: Path, pem: bytes, says: str
) -> None:
    file = tmp_path / "own.pem"
    file.write_bytes(pem)
    with (
        QuietswapClient(serve(pem), "k", ca_file=file) as client,
        pytest.raises(ServiceUnreachable, match=says),
    ):
        client.wrap_info(WALLET)


def test_a_file_of_authorities(serve: Serve, tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.bytes()
    own = self_signed()
    file = tmp_path / "ca.pem"
    file.write_bytes(authority.cert_pem.bytes() + own)
    for url in (serve(issued), serve(own)):
        with (
            QuietswapClient(url, "k", ca_file=str(file)) as client,
            pytest.raises(UnexpectedResponse),  # reached: the page is just not a service
        ):
            client.wrap_info(WALLET)


@pytest.mark.parametrize("content", [None, b"junk", b"", b"-----BEGIN CERTIFICATE-----\nAAAA"])
def test_a_file_that_holds_none(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=f"ca_file {file}"):
        QuietswapClient("https://127.0.0.1:1", "k", ca_file=file)


def test_the_option(serve: Serve, tmp_path: Path) -> None:
    own = self_signed()
    file = tmp_path / "ca.pem"
    file.write_bytes(own)
    url = serve(own)
    words = ("balances", "--url", url, "--wallet", WALLET)
    env = {"QUIETSWAP_API_KEY": "k", "QUIETSWAP_RPC_URL": None}
    untrusted = CliRunner().invoke(command, words, env=env)
    assert (untrusted.exit_code, "--ca-file FILE" in untrusted.output) == (3, True)
    trusted = CliRunner().invoke(command, (*words, "--ca-file", str(file)), env=env)
    assert (trusted.exit_code, "--ca-file FILE" in trusted.output) == (3, False)
    file.write_bytes(b"junk")
    unread = CliRunner().invoke(command, (*words, "--ca-file", str(file)), env=env)
    assert (unread.exit_code, "no certificate in PEM format" in unread.output) == (2, True)
