"""A block's builder, by its extra data, then by its fee recipient."""

import pytest

from quietswap.rules.chain.block_facts import block_facts
from quietswap.rules.chain.builders import BUILDERS, UNKNOWN, builder_of

QUASAR = "✨ Quasar (quasar.win) ✨".encode()
GETH = bytes.fromhex("d883011105846765746888676f312e32372e33856c696e7578")
TITAN_PAYS = "0x4838B106FCe9647Bdf1E7877BF73cE8B0BAD5f97"
LIDO = "0x388C818CA8B9251b393131C08a736A67ccB19297"


@pytest.mark.parametrize(
    ("extra_data", "recipient", "builder"),
    [
        (b"Titan (titanbuilder.xyz)", LIDO, "Titan"),
        (QUASAR, None, "Quasar"),
        (b"BuilderNet (Flashbots)", LIDO, "BuilderNet"),
        (b"Builder+ www.btcs.com/builder", LIDO, "Builder+ (BTCS)"),
        (b"Illuminate Dmocrtz Dstrib Prtct", LIDO, "Flashbots"),
        (QUASAR, TITAN_PAYS, "Quasar"),
        (b"", TITAN_PAYS, "Titan"),
        (GETH, LIDO, UNKNOWN),
        (b"\xff\xfe", None, UNKNOWN),
        (b"", None, UNKNOWN),
    ],
)
def test_the_builder_is_named(extra_data: bytes, recipient: str | None, builder: str) -> None:
    assert builder_of(extra_data, recipient) == builder


def test_no_two_lines_claim_a_block() -> None:
    assert len({builder.name for builder in BUILDERS}) == len(BUILDERS)
    for builder in BUILDERS:
        assert builder.mark == builder.mark.lower()
        assert builder_of(builder.mark.upper().encode(), None) == builder.name
        if builder.fee_recipient is not None:
            assert builder_of(b"", builder.fee_recipient.upper()) == builder.name


@pytest.mark.parametrize(("used", "limit"), [(0, 0), (31, 30), (1, -1)])
def test_gas_that_no_block_has_is_no_fact(used: int, limit: int) -> None:
    assert block_facts(1, used, limit, b"", None) is None


def test_a_full_block_is_10000_basis_points() -> None:
    facts = [block_facts(7, used, 30, QUASAR, None) for used in (0, 29, 30)]
    assert [each and each.fullness_bps for each in facts] == [0, 9_666, 10_000]
