"""What `quietswap cancel` says, and refuses to say, against a scripted service."""

import json
from dataclasses import replace

import pytest
from eth_abi import encode

from quietswap.cli.signed_orders import SignedOrdersFile
from quietswap.client.flows.finality import SubmittedTransaction
from quietswap.rules.errors.requests import ValidationError
from quietswap.rules.tx.address import Address
from tests.cli.conftest import Quietswap
from tests.cli.test_open_transaction import interrupted
from tests.client.conftest import Time
from tests.client.fake_chain import SYMBOL, FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import WALLET, refused
from tests.client.test_cancel_flow import GONE, SWAP_HASH, CancelService, service
from tests.client.test_cancel_nonce import naming, refusing

__all__ = ["service"]

CANCEL = ("cancel", "ord_1", "--poll", "0.2")


def test_it_signs_no_nonce_that_only_the_service_names(
    quietswap: Quietswap, service: CancelService
) -> None:
    result = quietswap(*CANCEL, "--yes")
    text = " ".join(result.stdout.split())
    assert (result.exit_code, service.posts) == (1, 0)
    assert "only the service knows which nonce the order has" in text
    assert "--router" not in text
    mistyped = quietswap(*CANCEL, "--yes", "--nonce", "8")
    text = " ".join(mistyped.stdout.split())
    assert (mistyped.exit_code, "nonce 7, not 8 as the order" in text) == (1, True)
    assert "--router" not in text
    assert service.posts == 0


def test_the_order_of_an_earlier_command_needs_no_nonce(
    quietswap: Quietswap, service: CancelService
) -> None:
    file = SignedOrdersFile()
    file["ord_1"] = SubmittedTransaction("the swap", SWAP_HASH, WALLET, 7, "ord_1")
    assert file.path.stat().st_mode & 0o077 == 0
    result = quietswap(*CANCEL, "--yes", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["checked"] is True
    assert service.posts == 1


def test_the_hash_of_another_transaction_kills_nothing(
    quietswap: Quietswap, service: CancelService, node: FakeChain
) -> None:
    naming(service, node)
    SignedOrdersFile()["ord_1"] = SubmittedTransaction("the swap", SWAP_HASH, WALLET, 7, "ord_1")
    result = quietswap(*CANCEL, "--yes")
    assert (result.exit_code, service.posts) == (1, 0)
    assert f"but you signed {SWAP_HASH}" in " ".join(result.stdout.split())


def test_a_file_of_orders_that_was_cut_off_or_cannot_be_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = SubmittedTransaction("the swap", SWAP_HASH, WALLET, 7, "ord_1")
    file = SignedOrdersFile()
    file["ord_1"] = sent
    file.path.write_bytes(file.path.read_bytes() + b'\n{"what": "the sw')
    file["ord_2"] = replace(sent, order_id="ord_2")
    assert list(SignedOrdersFile()) == ["ord_1", "ord_2"]
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    SignedOrdersFile()["ord_3"] = sent
    assert "to cancel ord_3, give --nonce 7" in capsys.readouterr().err


def test_only_what_is_proven_is_said(quietswap: Quietswap, service: CancelService) -> None:
    result = quietswap(*CANCEL, "--yes", "--nonce", "7", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["cancelled"], answer["checked"], answer["nonce"]) == (True, True, 7)
    text = " ".join(result.stderr.split())
    assert "nonce 7 is used: nothing else with nonce 7 can be mined" in text
    assert "never be mined" not in text


def test_an_interruption_after_the_end_says_what_is_final(
    quietswap: Quietswap, service: CancelService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The own node has not shown the cancel yet: the exit code stays 4."""
    service.mines = lambda _: None
    interrupted(monkeypatch, Time())
    result = quietswap(*CANCEL, "--yes", "--nonce", "7", "--json")
    assert result.exit_code == 4, result.output
    said = json.loads(result.stdout)["message"]
    assert f"the order ended as cancelled ({GONE.code.value}: {GONE.message})" in said
    assert "may still be mined" not in said + result.stderr


def test_a_token_that_cannot_be_read_leaves_the_result(
    quietswap: Quietswap, service: CancelService, node: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_call: object, _block: str) -> str:
        raise NodeSays("out of service")

    service.ends = replace(service.ends, buy_token=Address("0x" + "71" * 20))
    monkeypatch.setattr(node, "eth_call", away)
    result = quietswap(*CANCEL, "--yes", "--nonce", "7")
    assert result.exit_code == 0, result.output
    assert "nonce 7 is used" in " ".join(result.stdout.split())
    assert "the order cannot be shown" in result.stdout
    assert "out of service" in result.stdout


def test_a_symbol_that_is_markup_leaves_the_result(
    quietswap: Quietswap, service: CancelService, node: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output of the order's facts has no part in the exit code of what was mined."""
    usual = node.eth_call

    def named(call: dict[str, str], block: str) -> str:
        if call["data"].startswith("0x" + SYMBOL):
            return "0x" + encode(["string"], ["[/x][b]USDC"]).hex()
        return usual(call, block)

    service.ends = replace(service.ends, buy_token=Address("0x" + "71" * 20))
    monkeypatch.setattr(node, "eth_call", named)
    result = quietswap(*CANCEL, "--yes", "--nonce", "7")
    assert result.exit_code == 0, result.output
    assert "nonce 7 is used" in " ".join(result.stdout.split())
    assert "[/x][b]USDC" in result.stdout


def test_without_a_node_it_is_the_services_word(
    quietswap: Quietswap, service: CancelService, environment: dict[str, str | None]
) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    result = quietswap(*CANCEL, "--yes", "--nonce", "7", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["checked"] is False
    assert "The service says that it is cancelled; not checked." in result.stderr
    assert "can be mined" not in result.stderr


def test_a_refusal_after_the_bytes_are_out(
    quietswap: Quietswap,
    service: CancelService,
    node: FakeChain,
    environment: dict[str, str | None],
) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    refusing(service, None, node)
    service.refuses = refused(ValidationError("what was submitted differs", reason="MISMATCH"))
    result = quietswap(*CANCEL, "--yes", "--nonce", "7", "--json")
    assert result.exit_code == 4, result.output
    answer = json.loads(result.stdout)
    assert (answer["error"], answer["nonce"], answer["orderId"]) == ("MayBeMined", 7, "ord_1")
    assert answer["txHash"] in result.stderr
    assert answer["cause"] == "VALIDATION_ERROR"
