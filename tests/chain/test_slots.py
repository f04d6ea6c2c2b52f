"""Slots as published for known tokens, and as the sandbox's contracts really use them."""

import pytest

from quietswap.rules.amounts import AMOUNT_MAX
from quietswap.rules.trial import next_block, storage_slots, swap_trial
from quietswap.rules.trial.storage_slots import (
    OPENZEPPELIN_5,
    PLACES,
    MappingKeyOrder,
    MappingSlot,
    TokenStorageLayout,
)
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256
from quietswap.sandbox.contracts.pools import ALL_TOKENS, SandboxToken
from tests.chain.small_chain import NOBODY, VENUE

ORDERS = {
    "solidity": MappingKeyOrder.SOLIDITY,
    "vyper": MappingKeyOrder.VYPER,
    "solady": MappingKeyOrder.SOLADY,
}


@pytest.mark.parametrize("token", ALL_TOKENS.values(), ids=lambda t: str(t.symbol))
def test_slots_of_the_sandbox_tokens(token: SandboxToken) -> None:
    order = ORDERS[token.layout]
    balances, allowances = (
        MappingSlot(order, token.balances_slot),
        MappingSlot(order, token.allowances_slot),
    )
    assert balances.balance(NOBODY) == int(token.balance_key(NOBODY), 16)
    assert allowances.allowance(NOBODY, VENUE) == int(token.allowance_key(NOBODY, VENUE), 16)


def test_the_namespace_of_openzeppelin() -> None:
    inner = int.from_bytes(keccak256(b"openzeppelin.storage.ERC20")) - 1  # EIP-7201
    assert int.from_bytes(keccak256(inner.to_bytes(32))) & ~0xFF == OPENZEPPELIN_5


def test_every_place_is_probed_with_a_number_of_its_own() -> None:
    probe = storage_slots.slot_probe()
    assert len(probe) == len(set(probe.values())) == 2 * len(PLACES)
    assert all(number < 2**72 for number in probe.values())


@pytest.mark.parametrize("place", PLACES[:3] + PLACES[-3:], ids=str)
def test_what_is_read_back_names_the_place(place: MappingSlot) -> None:
    probe = storage_slots.slot_probe()
    balance = probe[place.balance(storage_slots.PROBE_OWNER)]
    allowance = probe[place.allowance(storage_slots.PROBE_OWNER, storage_slots.PROBE_SPENDER)]
    assert storage_slots.identify(balance, allowance) == TokenStorageLayout(place, place)
    assert storage_slots.identify(allowance, balance) == TokenStorageLayout()


@pytest.mark.parametrize("read", [None, 0, 1, 2**256 - 1, 2**72])
def test_any_other_number_names_none(read: int | None) -> None:
    assert storage_slots.identify(read, read) == TokenStorageLayout()


@pytest.mark.parametrize(
    ("stored", "current", "needed", "word"),
    [
        (5, 5, 9, 9),
        (5, 5, 0, 0),
        ((1 << 255) + 5, 5, 9, (1 << 255) + 9),
        (4, 5, 9, None),
        (2**256 - 1, 0, 1, None),
    ],
)
def test_only_the_difference_is_added(
    stored: int, current: int, needed: int, word: int | None
) -> None:
    assert storage_slots.raised_slot(stored, current, needed) == word


@pytest.mark.parametrize("amount", [1, AMOUNT_MAX // 5, AMOUNT_MAX])
def test_an_amount_that_may_be_sold_is_written_below_the_flag(amount: int) -> None:
    """The top bit of a balance of USDC says that its owner is blacklisted."""
    most = next_block.plausible_amount(amount, lambda end: end - 1)
    assert amount <= most < 2**255


def test_what_two_parts_set_in_one_contract_stands_in_its_state() -> None:
    """The slots of a token that is a contract of the system, too, replaced those of the other."""
    token, other = Address("0x" + "11" * 20), Address("0x" + "22" * 20)
    first = {token: {"stateDiff": {"0x1": "0xa", "0x2": "0xb"}, "balance": "0x5"}}
    second = {token: {"stateDiff": {"0x2": "0xc"}}, other: {"stateDiff": {"0x3": "0xd"}}}
    assert swap_trial.merged(first, second) == {
        token: {"stateDiff": {"0x1": "0xa", "0x2": "0xc"}, "balance": "0x5"},
        other: {"stateDiff": {"0x3": "0xd"}},
    }
