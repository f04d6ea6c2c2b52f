"""What ethers shows of a refusal: it knows go-ethereum's words, and keeps all other texts."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from quietswap.rules.errors.base import RequestError
from quietswap.rules.errors.requests import InsufficientBalance, NonceTooLow, ValidationError
from quietswap.service.wallet_rpc import wire
from quietswap.service.wallet_rpc.dispatch import rejected
from tests.fake_web import Answer, Request, serving

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TOO_LITTLE = InsufficientBalance(asset="ETH", required=2, available=1)
UNDERPRICED = "it replaces an open order and must raise maxFeePerGas by a tenth"
NO_MATCH = "it belongs to nothing: the nonce is free, its gas limit is too high"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TOO_LITTLE, "INSUFFICIENT_FUNDS"),
        (NonceTooLow(provided=3, expected=4), "NONCE_EXPIRED"),
        (ValidationError(UNDERPRICED, reason="REPLACEMENT_UNDERPRICED"), "REPLACEMENT_UNDERPRICED"),
        (ValidationError(NO_MATCH, reason="NO_MATCH"), "UNKNOWN_ERROR"),
        (InsufficientBalance(asset="0x" + "11" * 20, required=2, available=1), "UNKNOWN_ERROR"),
    ],
)
async def test_the_reason_of_a_refusal_can_be_shown(error: RequestError, code: str) -> None:
    def answer(request: Request) -> Answer:
        call = msgspec.json.decode(request.body)
        assert call["method"] == "eth_sendRawTransaction"
        return Answer(wire.error(msgspec.json.encode(call["id"]), rejected(error)))

    async with serving(answer) as web:
        process = await asyncio.create_subprocess_exec(
            "node", str(HERE / "refusals.mjs"), cwd=ROOT, env={"WALLET_RPC_URL": web.url,
            "PATH": "/usr/local/bin:/usr/bin:/bin"}, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, _ = await process.communicate()
    shown = json.loads(out)
    assert shown["code"] == code
    assert shown["why"].startswith(error.message)


def test_the_documentation_has_the_same_line() -> None:
    line = next(one for one in (HERE / "refusals.mjs").read_text().splitlines() if "why =" in one)
    assert line in (ROOT / "docs" / "wallet-transactions.md").read_text()
