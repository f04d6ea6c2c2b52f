"""`serve --check` and `serve` on certificates that are missing, empty, mismatched or unusable."""

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from quietswap.service.server.certificates import expires_at, tls_faults
from quietswap.service.server.trial_handshake import trial_fault
from tests import forked

PRIVATE = serialization.PrivateFormat
TOMORROW = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)


def serve(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    variables = forked.without_settings() | {"QUIETSWAP_NODE__URLS": "http://127.0.0.1:9"}
    return forked.run(["serve", "--port", "9", *options], variables, folder=folder)


def pair(
    folder: Path, key: object = None, form: PRIVATE = PRIVATE.PKCS8, until: datetime = TOMORROW
) -> tuple[str, str]:
    """Write a self-signed certificate and its key; return their paths."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())  # type: ignore[attr-defined]
        .serial_number(x509.random_serial_number())
        .not_valid_before(until - timedelta(days=2))
        .not_valid_after(until)
        .sign(key, digest)  # type: ignore[arg-type]
    )
    cert, secret = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    no = serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, no))  # type: ignore[attr-defined]
    return str(cert), str(secret)


def test_a_good_pair_is_good_and_its_end_is_named(tmp_path: Path) -> None:
    cert, key = pair(tmp_path)
    done = serve(tmp_path, "--check", "--tls-cert", cert, "--tls-key", key)
    assert done.returncode == 0, done.stderr
    assert f"the certificate is valid until {TOMORROW:%Y-%m-%d}" in done.stdout


@pytest.mark.parametrize(
    ("until", "said"),
    [
        (datetime(2021, 3, 4, tzinfo=UTC), "the certificate expired 2021-03-04: clients refuse it"),
        (
            datetime(2061, 3, 4, tzinfo=UTC),
            "the certificate is not valid before 2061-03-02 00:00 UTC: clients refuse it",
        ),
    ],
)
def test_one_that_is_not_valid_now_fails_the_check(
    tmp_path: Path, until: datetime, said: str
) -> None:
    cert, key = pair(tmp_path, until=until)
    done = serve(tmp_path, "--check", "--tls-cert", cert, "--tls-key", key)
    assert done.returncode == 2
    assert f"- server.tls_cert: {said}" in done.stderr
    assert "good" not in done.stdout


def version_1(folder: Path) -> tuple[str, str]:
    """Write what `openssl x509 -req -signkey` makes without extensions, and its key."""
    _, key = pair(folder)
    request, cert = folder / "request.pem", folder / "v1.pem"
    for command in (
        ["req", "-new", "-key", key, "-subj", "/CN=localhost", "-out", str(request)],
        ["x509", "-req", "-in", str(request), "-signkey", key, "-out", str(cert), "-days", "2"],
    ):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return str(cert), key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_of_version_1_is_refused(tmp_path: Path) -> None:
    cert, key = version_1(tmp_path)
    (fault,) = tls_faults(cert, key)
    assert fault.startswith(f"server.tls_cert: {cert} is an X.509 v1 certificate")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_the_trial_asks_the_server_library_itself(tmp_path: Path) -> None:
    """It refuses what no rule here names: the same certificate, without the look at its version."""
    assert trial_fault(*pair(tmp_path)) is None
    refused = trial_fault(*version_1(tmp_path))
    assert refused is not None
    assert "UnsupportedCertVersion" in refused


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ("no certificate", "server.tls_cert: {cert}: No such file or directory"),
        ("no key", "server.tls_key: {key}: No such file or directory"),
        ("empty certificate", "server.tls_cert: {cert} is empty"),
        ("empty key", "server.tls_key: {key} is empty"),
        ("other key", "server.tls_key: {key} is not the private key of {cert}"),
        ("words", "server.tls_cert: {cert} holds no PEM certificate"),
        ("half", "server.tls_cert: {cert} holds a broken certificate"),
        ("broken chain", "server.tls_cert: {cert} holds a broken certificate"),
        ("half a key", "server.tls_key: {key} holds a broken private key"),
        ("encrypted", "server.tls_key: {key} is encrypted"),
        ("folder", "server.tls_cert: {cert}: Is a directory"),
    ],
)
@pytest.mark.parametrize("check", [("--check",), ()], ids=["check", "serve"])
def test_each_fault_is_one_line(
    tmp_path: Path, spoil: str, said: str, check: tuple[str, ...]
) -> None:
    cert, key = pair(tmp_path)
    _spoil(spoil, Path(cert), Path(key))
    done = serve(tmp_path, *check, "--tls-cert", cert, "--tls-key", key)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    stderr = done.stderr if check else json.loads(done.stderr)["message"]  # a log has lines of JSON
    faults = re.findall(r"^(?:quietswap cannot start: )?(- .*)", stderr, re.M)
    assert len(faults) == 1
    assert faults[0].startswith("- " + said.format(cert=cert, key=key))


def _spoil(how: str, cert: Path, key: Path) -> None:
    match how:
        case "no certificate":
            cert.unlink()
        case "no key":
            key.unlink()
        case "empty certificate":
            cert.write_text("\n")
        case "empty key":
            key.write_text("")
        case "other key":
            key.write_bytes(trustme.CA().issue_cert("x").private_key_pem.bytes())
        case "words":
            cert.write_text("a certificate")
        case "half":
            text = cert.read_text()
            cert.write_text(text[:300] + "\n-----END CERTIFICATE-----\n")
        case "broken chain":
            text = cert.read_text()
            cert.write_text(text + text.replace("MII", "!!!", 1))
        case "half a key":
            text = key.read_text()
            key.write_text(text[:60] + text[text.rindex("\n-----END") :])
        case "encrypted":
            form = serialization.BestAvailableEncryption(b"hush")
            other = ec.generate_private_key(ec.SECP256R1())
            key.write_bytes(other.private_bytes(serialization.Encoding.PEM, PRIVATE.PKCS8, form))
        case "folder":
            cert.unlink()
            cert.mkdir()


def test_the_machines_answer_has_the_faults_too(tmp_path: Path) -> None:
    done = serve(tmp_path, "--check", "--json", "--tls-cert", "/nowhere", "--tls-key", "/nowhere")
    assert done.returncode == 2
    assert json.loads(done.stdout)["faults"] == [
        "server.tls_cert: /nowhere: No such file or directory",
        "server.tls_key: /nowhere: No such file or directory",
    ]


@pytest.mark.parametrize("form", [PRIVATE.PKCS8, PRIVATE.TraditionalOpenSSL])
@pytest.mark.parametrize("kind", ["rsa", "P-256", "P-384"])
def test_what_the_server_takes_passes(tmp_path: Path, kind: str, form: PRIVATE) -> None:
    keys = {
        "rsa": lambda: rsa.generate_private_key(65537, 2048),
        "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    }
    cert, key = pair(tmp_path, keys[kind](), form)
    assert tls_faults(cert, key) == []
    assert expires_at(cert) == TOMORROW


def test_what_the_server_does_not_take_is_refused(tmp_path: Path) -> None:
    """The worker would end with a panic: rustls has no other kinds of keys."""
    assert tls_faults(*pair(tmp_path, ed25519.Ed25519PrivateKey.generate())) == []
    for key in (
        ec.generate_private_key(ec.SECP256K1()),
        ec.generate_private_key(ec.SECP521R1()),
        dsa.generate_private_key(2048),
    ):
        cert, secret = pair(tmp_path, key)
        assert tls_faults(cert, secret) == [
            f"server.tls_cert: {cert} is not of RSA, P-256, P-384 or Ed25519"
        ]


def test_a_date_after_2049_is_read(tmp_path: Path) -> None:
    """RFC 5280 writes those as GeneralizedTime."""
    until = datetime(2061, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert expires_at(pair(tmp_path, until=until)[0]) == until
