"""`deploy/quietswap.toml` starts the service as it stands and with every example line in use."""

import re
from pathlib import Path

import trustme

from tests import forked
from tests.deploy.files import DEPLOY, NODE, good_settings
from tests.tokens.token_lists import token_list

FILE = DEPLOY / "quietswap.toml"


def test_it_boots() -> None:
    environment = forked.without_settings() | NODE | {"QUIETSWAP_SERVER__PORT": "8123"}
    done = forked.run(["serve", "--settings", str(FILE), "--check"], environment)
    assert done.returncode == 0, done.stderr
    assert "127.0.0.1:8123" in done.stdout


def test_without_a_node_it_says_so() -> None:
    done = forked.run(["serve", "--settings", str(FILE), "--check"], forked.without_settings())
    assert done.returncode == 2
    assert "node.urls is not set" in done.stderr


def test_every_line_that_can_be_switched_on_is_a_setting(tmp_path: Path) -> None:
    text = FILE.read_text("utf-8")
    whole = re.sub(r"^#(?=[a-z_\[])", "", text, flags=re.M)
    assert whole.count("\n#") < text.count("\n#")
    tokens = tmp_path / "tokens.json"
    tokens.write_text('{"tokens": []}', "utf-8")
    whole = whole.replace("/etc/quietswap/tokens.json", str(tokens))
    listed = tmp_path / "default.tokenlist.json"
    listed.write_bytes(token_list())
    whole = whole.replace("/etc/quietswap/default.tokenlist.json", str(listed))
    whole = whole.replace("sqlite:////var/lib/quietswap/quietswap.sqlite3", "postgresql://db/q")
    pair = trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem
    pair.write_to_path(str(tmp_path / "both.pem"))
    for name in ("fullchain.pem", "key.pem"):
        whole = whole.replace(f"/etc/quietswap/{name}", str(tmp_path / "both.pem"))
    file = tmp_path / "quietswap.toml"
    file.write_text(whole, "utf-8")
    settings = good_settings({}, file)
    assert settings.relay.backup is not None
    assert settings.server.workers == 2
    assert {"zeroex", "oneinch"} <= set(settings.source)
