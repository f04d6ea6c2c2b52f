"""What `quietswap cancel` says, and refuses to say, against a scripted service."""

import json
from dataclasses import replace

import pytest
from eth_abi import encode

from quietswap.cli.options import connection
from quietswap.domain.address import Address
from quietswap.domain.errors.request import ValidationError
from tests.cli.conftest import Quietswap
from tests.client.fake_chain import SYMBOL, FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import refused
from tests.client.test_cancel_flow import CancelService, service
from tests.client.test_cancel_nonce import refusing

__all__ = ["service"]

CANCEL = ("cancel", "ord_1", "--poll", "0.2")


def test_yes_signs_no_nonce_that_only_the_service_names(
    quietswap: Quietswap, service: CancelService
) -> None:
    result = quietswap(*CANCEL, "--yes")
    text = " ".join(result.stdout.split())
    assert (result.exit_code, service.posts) == (1, 0)
    assert "only the service says that nonce 7 is the order's" in text
    assert "--router" not in text
    mistyped = quietswap(*CANCEL, "--yes", "--nonce", "8")
    text = " ".join(mistyped.stdout.split())
    assert (mistyped.exit_code, "nonce 7, not 8 as you gave" in text) == (1, True)
    assert "--router" not in text
    assert service.posts == 0


def test_a_person_is_told_so(
    quietswap: Quietswap, service: CancelService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    result = quietswap(*CANCEL, input="n\n")
    text = " ".join(result.stdout.split())
    assert "Only the service says that this nonce belongs to the order." in text
    assert service.posts == 0


def test_only_what_is_proven_is_said(quietswap: Quietswap, service: CancelService) -> None:
    result = quietswap(*CANCEL, "--yes", "--nonce", "7", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["cancelled"], answer["checked"], answer["nonce"]) == (True, True, 7)
    text = " ".join(result.stderr.split())
    assert "nonce 7 is used: nothing else with nonce 7 can be mined" in text
    assert "never be mined" not in text


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
