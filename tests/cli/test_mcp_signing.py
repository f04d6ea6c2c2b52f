"""Swaps of a model on the sandbox: signed elsewhere, or by the person's local signer in limits."""

import json
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from mcp.types import ElicitRequestParams, ElicitResult

from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.client import QuietswapClient, node_calls
from quietswap.rules.tx.signed import decode
from tests.cli.mcp_sessions import (
    call,
    over_stdio,
    refusal,
    signed_by,
    transcript,
    variables,
)
from tests.cli.test_cancel_command import withheld
from tests.cli.test_mcp import assert_no_secret

pytestmark = pytest.mark.xdist_group("live-cli")
PAIR = {"sell": "WETH", "buy": "USDC"}
EXTERNAL, LOCAL = 1, 2
MODES = ("auto", "legacy")
"""The newest protocol, and the handshake of the versions before."""


def signed(prepared: Mapping[str, Any], town: SandboxInfo, wallet: int = EXTERNAL) -> str:
    return signed_by(Account.from_key(town.wallets[wallet].private_key), prepared)


def held(town: SandboxInfo, token: str, wallet: int) -> int:
    with QuietswapClient(town.base_url, town.api_key, rpc_url=town.rpc_url) as client:
        return client.node(
            node_calls.token_balance(town.tokens[token], town.wallets[wallet].address)
        )


async def approved(client: Any, town: SandboxInfo, **request: Any) -> dict[str, Any]:
    """Return a prepared swap; its approvals are signed and mined before."""
    prepared = await call(client, "prepare_swap", **request)
    while prepared["kind"] == "approval":
        raw = signed(prepared, town)
        ids = {"prepared_id": prepared["preparedId"]}
        done = await call(client, "submit_signed", **ids, signed_transaction=raw)
        assert done["blockNumber"] > 0
        prepared = await call(client, "prepare_swap", **request)
    assert prepared["kind"] == "swap"
    return prepared


async def ended(client: Any, order_id: str) -> dict[str, Any]:
    while not (found := await call(client, "follow_order", order_id=order_id, wait_seconds=5))[
        "final"
    ]:
        pass
    return found


async def test_a_swap_signed_elsewhere_is_confirmed(town: SandboxInfo, tmp_path: Path) -> None:
    wallet = town.wallets[EXTERNAL].address
    before = held(town, "USDC", EXTERNAL)
    async with over_stdio(variables(town, tmp_path), tmp_path) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        prepared = await approved(client, town, **PAIR, amount="1", wallet=wallet)
        raw = signed(prepared, town)
        other = signed(prepared | {"transaction": prepared["transaction"] | {"nonce": 99}}, town)
        ids = {"prepared_id": prepared["preparedId"]}
        changed = await refusal(client, "submit_signed", **ids, signed_transaction=other)
        stranger = signed(prepared, town, LOCAL)
        foreign = await refusal(client, "submit_signed", **ids, signed_transaction=stranger)
        nothing = await refusal(client, "submit_signed", **ids, signed_transaction="0x02")
        placed = await call(client, "submit_signed", **ids, signed_transaction=raw)
        end = await ended(client, placed["orderId"])
    assert "sign_and_submit" not in names
    assert {one["error"] for one in (changed, foreign, nothing)} == {"WronglySigned"}
    assert end["outcome"] == "mined"
    end = end["reportedByService"]
    assert (end["status"], end["txHash"]) == ("confirmed", placed["txHash"])
    assert placed["txHash"] == decode(raw).hash
    got = held(town, "USDC", EXTERNAL) - before
    assert got == int(end["received"]["amount"]) >= int(prepared["quote"]["minBuyAmount"])
    text = transcript(tmp_path)
    assert_no_secret(text, town)
    assert raw[2:] not in (tmp_path / "err.log").read_text()


async def test_the_hash_to_sign_is_that_of_the_transaction(
    town: SandboxInfo, tmp_path: Path
) -> None:
    """A signer that knows only the hash makes the same signature."""
    account = Account.from_key(town.wallets[EXTERNAL].private_key)
    async with over_stdio(variables(town, tmp_path), tmp_path) as client:
        prepared = await approved(client, town, **PAIR, amount="1", wallet=account.address)
    by_hash = account.unsafe_sign_hash(prepared["hashToSign"])
    assert decode(signed(prepared, town)).signature[1:] == (by_hash.r, by_hash.s)


async def test_a_withheld_swap_is_cancelled(town: SandboxInfo, tmp_path: Path) -> None:
    wallet = town.wallets[EXTERNAL].address
    async with over_stdio(variables(town, tmp_path), tmp_path) as client:
        with withheld(town):
            prepared = await approved(client, town, **PAIR, amount="1", wallet=wallet)
            ids = {"prepared_id": prepared["preparedId"]}
            placed = await call(
                client, "submit_signed", **ids, signed_transaction=signed(prepared, town)
            )
            order = {"order_id": placed["orderId"]}
            cancel = await call(client, "prepare_cancel", **order, wallet=wallet)
            ids = {"prepared_id": cancel["preparedId"]}
            sent = await call(
                client, "submit_signed", **ids, signed_transaction=signed(cancel, town)
            )
        end = await ended(client, placed["orderId"])
    assert cancel["transaction"]["to"] == wallet
    assert (cancel["kind"], cancel["transaction"]["data"]) == ("cancel", "0x")
    assert sent["submitted"]
    assert end["outcome"] == "replaced"
    assert end["reportedByService"]["error"]["code"] == "USER_CANCELLED"


class Asked:
    """The user of a client: answers each question, and keeps them."""

    def __init__(self, *answers: str | None) -> None:
        self._answers = list(answers)
        self.questions: list[str] = []

    async def __call__(self, _context: Any, params: ElicitRequestParams) -> ElicitResult:
        self.questions.append(params.message)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"answer": answer})


@pytest.fixture
def keystore(town: SandboxInfo, tmp_path: Path) -> tuple[str, ...]:
    """Return the options of the person's signer: an encrypted key, and its password in a file."""
    file, password = tmp_path / "key.json", tmp_path / "password"
    key = town.wallets[LOCAL].private_key
    file.write_text(json.dumps(Account.encrypt(key, "a secret word", iterations=2)))
    password.write_text("a secret word")
    password.chmod(0o600)
    return ("--keystore", str(file), "--password-file", str(password))


@pytest.mark.parametrize("mode", MODES)
async def test_the_local_signer_signs_what_the_person_confirms(
    town: SandboxInfo, tmp_path: Path, keystore: tuple[str, ...], mode: str
) -> None:
    wallet, person = town.wallets[LOCAL].address, Asked("yes")
    options = {"elicitation_callback": person, "mode": mode}
    words = (*keystore, "--limit", "WETH=2.5")
    before = held(town, "USDC", LOCAL)
    async with over_stdio(variables(town, tmp_path), tmp_path, *words, **options) as client:
        request = PAIR | {"amount": "1", "wallet": wallet}
        while (prepared := await call(client, "prepare_swap", **request))["kind"] == "approval":
            await call(client, "sign_and_submit", prepared_id=prepared["preparedId"])
            assert "approve " in person.questions[-1]
        placed = await call(client, "sign_and_submit", prepared_id=prepared["preparedId"])
        again = await refusal(client, "sign_and_submit", prepared_id=prepared["preparedId"])
        end = await ended(client, placed["orderId"])
    question = person.questions[-1]
    assert "swap 1 WETH (0xC02a" in question
    assert f"for at least {int(prepared['quote']['minBuyAmount']) / 10**6:,}" in question
    assert "sold 1 WETH: 1 WETH of 2.5 WETH within 24 hours" in question
    assert again["field"] == "prepared_id"
    assert end["outcome"] == "mined"
    assert end["reportedByService"]["txHash"] == placed["txHash"]
    assert held(town, "USDC", LOCAL) > before
    text = transcript(tmp_path)
    assert_no_secret(text, town)
    assert "a secret word" not in text


async def test_a_limit_holds_across_a_restart_and_before_the_person_is_asked(
    town: SandboxInfo, tmp_path: Path, keystore: tuple[str, ...]
) -> None:
    wallet, person = town.wallets[LOCAL].address, Asked("yes")
    nonce = used(town, wallet)
    env, words = variables(town, tmp_path), (*keystore, "--limit", "WETH=1")
    file = tmp_path / "quietswap" / "mcp-limits.sqlite3"
    refused = []
    async with over_stdio(env, tmp_path, *words, elicitation_callback=person) as client:
        for amount in ("1.000000000000000001", "0.4"):
            request = PAIR | {"amount": amount, "wallet": wallet}
            prepared = await call(client, "prepare_swap", **request)
            if amount != "0.4":
                ids = {"prepared_id": prepared["preparedId"]}
                refused.append(await refusal(client, "sign_and_submit", **ids))
        usdc = {"sell": "USDC", "buy": "WETH", "amount": "5", "wallet": wallet}
        prepared = await call(client, "prepare_swap", **usdc)
        refused.append(await refusal(client, "sign_and_submit", prepared_id=prepared["preparedId"]))
    assert file.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(file) as database:
        database.execute(
            "INSERT INTO signed (at_ms, wallet, token, amount)"
            " VALUES (?, ?, ?, '700000000000000000')",
            (time.time_ns() // 10**6, wallet, town.tokens["WETH"]),
        )
    async with over_stdio(env, tmp_path, *words, elicitation_callback=person) as client:
        prepared = await call(client, "prepare_swap", **PAIR, amount="0.4", wallet=wallet)
        refused.append(await refusal(client, "sign_and_submit", prepared_id=prepared["preparedId"]))
    assert [one["error"] for one in refused] == ["LIMIT_EXCEEDED", "NO_LIMIT", "LIMIT_EXCEEDED"]
    assert "0.7 WETH are used" in refused[2]["message"]
    assert person.questions == []
    assert used(town, wallet) == nonce


def used(town: SandboxInfo, wallet: str) -> int:
    with QuietswapClient(town.base_url, town.api_key, rpc_url=town.rpc_url) as client:
        return client.node(node_calls.nonce(wallet))


@pytest.mark.parametrize("mode", MODES)
async def test_what_the_person_does_not_confirm_is_not_signed(
    town: SandboxInfo, tmp_path: Path, keystore: tuple[str, ...], mode: str
) -> None:
    wallet, person = town.wallets[LOCAL].address, Asked(None, "no", "")
    nonce = used(town, wallet)
    env, words = variables(town, tmp_path), (*keystore, "--limit", "WETH=100")
    options = {"elicitation_callback": person, "mode": mode}
    async with over_stdio(env, tmp_path, *words, **options) as client:
        prepared = await call(client, "prepare_swap", **PAIR, amount="1", wallet=wallet)
        ids = {"prepared_id": prepared["preparedId"]}
        refused = [await refusal(client, "sign_and_submit", **ids) for _ in range(3)]
    async with over_stdio(env, tmp_path, *words, mode=mode) as client:  # it cannot ask
        prepared = await call(client, "prepare_swap", **PAIR, amount="1", wallet=wallet)
        silent = await refusal(client, "sign_and_submit", prepared_id=prepared["preparedId"])
    assert [one["error"] for one in refused] == ["NOT_CONFIRMED"] * 3
    assert len(person.questions) == 3
    assert silent["error"] == "NO_CONFIRMATION"
    assert "elicitation" in silent["message"]
    assert used(town, wallet) == nonce
    spent = tmp_path / "quietswap" / "mcp-limits.sqlite3"
    with sqlite3.connect(spent) as database:
        assert database.execute("SELECT count(*) FROM signed").fetchone() == (0,)


async def test_another_wallet_is_not_signed_for(
    town: SandboxInfo, tmp_path: Path, keystore: tuple[str, ...]
) -> None:
    words = (*keystore, "--limit", "WETH=100")
    env, person = variables(town, tmp_path), Asked("yes")
    async with over_stdio(env, tmp_path, *words, elicitation_callback=person) as client:
        other = town.wallets[EXTERNAL].address
        prepared = await call(client, "prepare_swap", **PAIR, amount="1", wallet=other)
        refused = await refusal(client, "sign_and_submit", prepared_id=prepared["preparedId"])
    assert refused["error"] == "OTHER_WALLET"
    assert person.questions == []
