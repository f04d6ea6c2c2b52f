"""What may leave a wallet in a swap: every rule is broken alone, and only then named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.safety.wallet_effects import (
    ETHER,
    SYSTEM,
    EventLog,
    SwapBounds,
    broken_rule,
    parse_log,
    wallet_word,
)
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256

WALLET, ROUTER, THIEF, POOL, SELL, BUY, OTHER, PERMIT2 = (
    addresses.from_bytes(keccak256(name)[12:])
    for name in (b"wallet", b"router", b"thief", b"pool", b"sell", b"buy", b"other", b"permit2")
)
AMOUNT = 1_000
BOUNDS = SwapBounds(WALLET, ROUTER, SELL, AMOUNT, allowance=5_000)


def word(value: int | Address) -> bytes:
    raw = value.to_bytes(32) if isinstance(value, int) else addresses.to_bytes(value)
    return raw.rjust(32, b"\0")


def log(
    token: Address, signature: str, *indexed: int | Address, data: tuple[int | Address, ...] = ()
) -> EventLog:
    topics = (keccak256(signature.encode()), *map(word, indexed))
    return EventLog(token, topics, b"".join(map(word, data)))


def transfer(token: Address, source: Address, target: Address, value: int) -> EventLog:
    return log(token, "Transfer(address,address,uint256)", source, target, data=(value,))


def approval(token: Address, owner: Address, spender: Address, value: int) -> EventLog:
    return log(token, "Approval(address,address,uint256)", owner, spender, data=(value,))


SOLD = transfer(SELL, WALLET, POOL, AMOUNT)
BOUGHT = transfer(BUY, POOL, WALLET, 7)


def test_an_honest_swap_breaks_nothing() -> None:
    lowered = approval(SELL, WALLET, ROUTER, 4_000)
    between = transfer(OTHER, POOL, ROUTER, 10**30)
    noise = EventLog(POOL, (), b""), log(POOL, "Swap(address,uint256)", WALLET, data=(1,))
    logs = [lowered, SOLD, between, BOUGHT, *noise]
    assert broken_rule(logs, BOUNDS) is None
    assert broken_rule(logs, BOUNDS, balance_before=1_000, balance_after=0) is None
    assert broken_rule([], BOUNDS) is None


def test_a_fee_inside_the_sell_amount_is_part_of_it() -> None:
    parts = [transfer(SELL, WALLET, POOL, 990), transfer(SELL, WALLET, THIEF, 10)]
    assert broken_rule(parts, BOUNDS) is None
    assert broken_rule([*parts, transfer(SELL, WALLET, THIEF, 1)], BOUNDS) == (
        f"it takes 1001 of {SELL} from the wallet, more than the 1000 to be sold"
    )


def test_what_comes_back_does_not_pay_for_what_went() -> None:
    logs = [SOLD, transfer(SELL, POOL, WALLET, 500), transfer(SELL, WALLET, THIEF, 500)]
    assert "1500" in (broken_rule(logs, BOUNDS) or "")


def test_a_loss_without_a_log_shows_in_the_balance() -> None:
    assert broken_rule([SOLD], BOUNDS, balance_before=90_000, balance_after=89_000) is None
    assert broken_rule([SOLD], BOUNDS, balance_before=90_000, balance_after=88_999) == (
        f"it takes 1001 of {SELL} from the wallet, more than the 1000 to be sold"
    )


PERMIT = "Permit(address,address,address,uint160,uint48,uint48)"
THEFTS = {
    "ETH after EIP-7708": (transfer(SYSTEM, WALLET, THIEF, 1), "it moves ETH out of the wallet"),
    "another token": (transfer(OTHER, WALLET, THIEF, 1), f"it moves {OTHER} out of the wallet"),
    "the buy token": (transfer(BUY, WALLET, THIEF, 1), f"it moves {BUY} out of the wallet"),
    "nothing of another token": (
        transfer(OTHER, WALLET, THIEF, 0),
        f"it moves {OTHER} out of the wallet",
    ),
    "ETH": (transfer(ETHER, WALLET, THIEF, 1), "it moves ETH out of the wallet"),
    "an NFT": (
        log(OTHER, "Transfer(address,address,uint256)", WALLET, THIEF, 77),
        f"it may move the wallet's {OTHER}: a log of it has an unusual form",
    ),
    "an NFT that logs nothing indexed": (
        log(OTHER, "Transfer(address,address,uint256)", data=(WALLET, THIEF, 77)),
        f"it may move the wallet's {OTHER}: a log of it has an unusual form",
    ),
    "the sell token, one argument indexed": (
        log(SELL, "Transfer(address,address,uint256)", WALLET, data=(THIEF, 77)),
        f"it may move the wallet's {SELL}: a log of it has an unusual form",
    ),
    "the sell token, with more data": (
        log(SELL, "Transfer(address,address,uint256)", WALLET, THIEF, data=(1, 2)),
        f"it moves {SELL} out of the wallet",
    ),
    "one ERC-1155": (
        log(
            OTHER,
            "TransferSingle(address,address,address,uint256,uint256)",
            *(ROUTER, WALLET, THIEF),
            data=(1, 1),
        ),
        f"it moves {OTHER} out of the wallet",
    ),
    "many ERC-1155": (
        log(
            OTHER,
            "TransferBatch(address,address,address,uint256[],uint256[])",
            *(ROUTER, WALLET, THIEF),
        ),
        f"it moves {OTHER} out of the wallet",
    ),
    "an ERC-777": (
        log(
            OTHER,
            "Sent(address,address,address,uint256,bytes,bytes)",
            *(ROUTER, WALLET, THIEF),
        ),
        f"it moves {OTHER} out of the wallet",
    ),
    "a burnt ERC-777": (
        log(OTHER, "Burned(address,address,uint256,bytes,bytes)", ROUTER, WALLET),
        f"it moves {OTHER} out of the wallet",
    ),
    "an ERC-777 operator": (
        log(OTHER, "AuthorizedOperator(address,address)", THIEF, WALLET),
        f"it lets others spend the wallet's {OTHER}",
    ),
    "approval of another token": (
        approval(OTHER, WALLET, ROUTER, 1),
        f"it lets others spend the wallet's {OTHER}",
    ),
    "approval of another spender": (
        approval(SELL, WALLET, THIEF, 1),
        f"it lets others spend the wallet's {SELL}",
    ),
    "approval of more than before": (
        approval(SELL, WALLET, ROUTER, 5_001),
        f"it lets others spend the wallet's {SELL}",
    ),
    "approval of every NFT": (
        log(OTHER, "ApprovalForAll(address,address,bool)", WALLET, THIEF, data=(1,)),
        f"it lets others spend the wallet's {OTHER}",
    ),
    "approval of one NFT": (
        log(OTHER, "Approval(address,address,uint256)", WALLET, THIEF, 77),
        f"it may move the wallet's {OTHER}: a log of it has an unusual form",
    ),
    "Permit2 by signature": (
        log(PERMIT2, PERMIT, WALLET, SELL, THIEF, data=(1, 2, 3)),
        f"it lets others spend the wallet's {PERMIT2}",
    ),
    "Permit2 by call": (
        log(
            PERMIT2,
            "Approval(address,address,address,uint160,uint48)",
            *(WALLET, SELL, THIEF),
            data=(1, 2),
        ),
        f"it lets others spend the wallet's {PERMIT2}",
    ),
}


@pytest.mark.parametrize("name", THEFTS)
def test_a_theft_is_named(name: str) -> None:
    theft, reason = THEFTS[name]
    assert broken_rule([SOLD, BOUGHT, theft], BOUNDS) == reason
    assert broken_rule([theft, SOLD, BOUGHT], BOUNDS) == reason


@pytest.mark.parametrize("name", THEFTS)
def test_the_same_log_about_another_wallet_is_no_theft(name: str) -> None:
    theft, _ = THEFTS[name]
    ours, theirs = word(WALLET), word(POOL)
    topics = tuple(theirs if topic == ours else topic for topic in theft.topics)
    elsewhere = EventLog(theft.address, topics, theft.data.replace(ours, theirs))
    assert broken_rule([SOLD, BOUGHT, elsewhere], BOUNDS) is None


def test_erc777_logs_of_the_sell_token_are_not_counted_twice() -> None:
    sent = log(
        SELL,
        "Sent(address,address,address,uint256,bytes,bytes)",
        *(ROUTER, WALLET, POOL),
        data=(AMOUNT,),
    )
    assert broken_rule([sent, SOLD], BOUNDS) is None


def test_a_token_that_logs_nothing_indexed_may_pay_the_wallet() -> None:
    paid = log(BUY, "Transfer(address,address,uint256)", data=(POOL, WALLET, 77))
    assert broken_rule([SOLD, paid], BOUNDS) is None


@given(st.lists(st.tuples(st.sampled_from([WALLET, POOL]), st.integers(0, 2**256 - 1))))
def test_exactly_what_leaves_the_wallet_counts(moves: list[tuple[Address, int]]) -> None:
    logs = [transfer(SELL, source, THIEF, value) for source, value in moves]
    taken = sum(value for source, value in moves if source == WALLET)
    assert (broken_rule(logs, BOUNDS) is None) == (taken <= AMOUNT)


@given(
    st.binary(min_size=20, max_size=20),
    st.lists(st.binary(min_size=32, max_size=32), max_size=4),
    st.binary(max_size=200),
)
def test_any_log_is_read_without_an_error(at: bytes, topics: list[bytes], data: bytes) -> None:
    hexed = ["0x" + topic.hex() for topic in topics]
    read = parse_log("0x" + at.hex(), hexed, "0x" + data.hex())
    assert (addresses.to_bytes(read.address), list(read.topics), read.data) == (at, topics, data)
    assert broken_rule([read], BOUNDS) is None


@pytest.mark.parametrize(
    ("address", "topics", "data"),
    [
        ("0x12", [], "0x"),
        (SELL, ["0x12"], "0x"),
        (SELL, ["0x" + "00" * 32] * 5, "0x"),
        (SELL, ["00" * 32], "0x"),
        (SELL, [], "0x1"),
        (SELL, [], "zz"),
    ],
)
def test_what_is_no_log_is_refused(address: str, topics: list[str], data: str) -> None:
    with pytest.raises(ValueError, match=r"hex|byte|topics|address"):
        parse_log(address, topics, data)


def test_the_wallets_word_is_in_every_log_that_concerns_it() -> None:
    for theft, _ in THEFTS.values():
        text = "".join(map(bytes.hex, (*theft.topics, theft.data)))
        assert wallet_word(WALLET) in text


WRAPS = SwapBounds(WALLET, ROUTER, WETH, AMOUNT, allowance=AMOUNT, wrapped=AMOUNT)
UNWRAPS = SwapBounds(WALLET, ROUTER, SELL, AMOUNT, allowance=AMOUNT, unwrapped=AMOUNT)


@pytest.mark.parametrize("reporters", [[ETHER], [SYSTEM], [ETHER, SYSTEM]])
def test_exactly_what_is_sold_is_wrapped(reporters: list[Address]) -> None:
    """A node logs it by the pseudo token, from EIP-7708 on by the system's address, or by both."""
    sold = transfer(WETH, WALLET, POOL, AMOUNT)
    wraps = [transfer(each, WALLET, WETH, AMOUNT) for each in reporters]
    assert broken_rule([*wraps, sold, BOUGHT], WRAPS, balance_before=5, balance_after=5) is None
    for after in (4, 0):
        found = broken_rule([*wraps, sold], WRAPS, balance_before=5, balance_after=after)
        assert (found or "").startswith(f"it takes {AMOUNT + 5 - after} of {WETH}")
    assert broken_rule(wraps, BOUNDS) == "it moves ETH out of the wallet"
    for other in (
        [],
        [transfer(each, WALLET, WETH, AMOUNT - 1) for each in reporters],
        [*wraps, wraps[0]],
        [*wraps, transfer(reporters[-1], WALLET, WETH, 1)],
    ):
        assert "not exactly 1000 wei" in (broken_rule([*other, sold], WRAPS) or "")
    for to in (POOL, THIEF):
        elsewhere = [transfer(each, WALLET, to, AMOUNT) for each in reporters]
        for logs in (elsewhere, [*wraps, *elsewhere]):
            assert broken_rule([*logs, sold], WRAPS) == "it moves ETH out of the wallet"


@pytest.mark.parametrize("reporters", [[ETHER], [SYSTEM], [ETHER, SYSTEM]])
def test_exactly_the_minimum_is_unwrapped(reporters: list[Address]) -> None:
    unwraps = [transfer(each, WETH, WALLET, AMOUNT) for each in reporters]
    gift = transfer(reporters[0], POOL, WALLET, 7)
    assert broken_rule([SOLD, *unwraps, gift], UNWRAPS) is None
    assert broken_rule([SOLD, *unwraps], BOUNDS) is None
    for other in (
        [],
        [transfer(each, WETH, WALLET, AMOUNT + 1) for each in reporters],
        [*unwraps, unwraps[0]],
        [transfer(each, POOL, WALLET, AMOUNT) for each in reporters],
        [transfer(each, WETH, THIEF, AMOUNT) for each in reporters],
        [transfer(WETH, WETH, WALLET, AMOUNT)],
    ):
        assert "not exactly 1000 wei" in (broken_rule([SOLD, *other], UNWRAPS) or "")
    leak = transfer(reporters[0], WALLET, THIEF, 1)
    assert broken_rule([SOLD, *unwraps, leak], UNWRAPS) == "it moves ETH out of the wallet"
