"""What the chain says of the sender before anything is stored or sent."""

from dataclasses import replace

import pytest

from quietswap.rules.errors.requests import InvalidSignature
from quietswap.rules.orders.checks import WRAP_ORDER
from quietswap.rules.orders.preflight import RequiredSpend, preflight
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.signed import decode
from tests.manual_clock import ManualClock
from tests.scripted_chain import ScriptedChain
from tests.signing import sign

SPEND = RequiredSpend(WETH, 1, None)


async def test_a_contract_cannot_send() -> None:
    chain = ScriptedChain(ManualClock())
    chain.facts = replace(chain.facts, code=b"\x60\x80")
    with pytest.raises(InvalidSignature, match="EIP-3607"):
        await preflight(chain, decode(sign()), SPEND, WRAP_ORDER, None)


@pytest.mark.parametrize("code", [b"", bytes.fromhex("ef0100") + b"\x11" * 20])
async def test_a_wallet_that_delegates_may_send(code: bytes) -> None:
    chain = ScriptedChain(ManualClock())
    chain.facts = replace(chain.facts, code=code)
    assert (
        await preflight(chain, decode(sign()), SPEND, WRAP_ORDER, None)
    ).eth == chain.facts.eth_balance
