"""What an aggregator's answer may fill a quote with."""

import pytest

from quietswap.rules.tx import address as addresses
from quietswap.service.sources import answers as read

SELL, BUY = (addresses.from_bytes(bytes([n]) * 20) for n in (0xAA, 0xBB))
STEPS = [addresses.from_bytes((n + 1).to_bytes(20)) for n in range(20_000)]


@pytest.mark.parametrize("count", [0, 1, 13, 14, 15, 20_000])
def test_a_path_has_both_ends_and_at_most_16_tokens(count: int) -> None:
    found = read.path(list(STEPS[:count]), SELL, BUY)
    assert found == (SELL, *STEPS[: min(count, 14)], BUY)


def test_a_path_leaves_out_what_is_no_step() -> None:
    tokens: list[object] = [None, "0x12", SELL, STEPS[0], STEPS[0], 7, BUY]
    assert read.path(tokens, SELL, BUY) == (SELL, STEPS[0], BUY)
    assert read.path(["junk"] * 10**6 + [STEPS[0]], SELL, BUY) == (SELL, BUY)
