"""Who built a block, by what the block says of itself: its `extraData` and its fee recipient.

A builder chooses both, and another one can copy them: the name is for statistics and decides
nothing. A block of none of these is `UNKNOWN`: a validator's own, or a builder without a line here.

Source: `builderwatch/builders.py` and `data/daily.csv` of
https://github.com/AlinaSchan/builderwatch, read 2026-11-29. The names are those of mainnet headers
25,980,626 to 25,982,625 (2026-09-15), the recipients those of 2026-09-27 to 2026-09-29. The last
four wrote their names until 2024 and were in none of these blocks.
"""

from typing import NamedTuple

UNKNOWN = "unknown"


class Builder(NamedTuple):
    """`mark` is part of its extra data in lower case, `fee_recipient` an address in lower case."""

    name: str
    mark: str
    fee_recipient: str | None = None


BUILDERS = (
    Builder("Titan", "titanbuilder.xyz", "0x4838b106fce9647bdf1e7877bf73ce8b0bad5f97"),
    Builder("Quasar", "quasar.win", "0x396343362be2a4da1ce0c1c210945346fb82aa49"),
    Builder("BuilderNet", "buildernet", "0xdadb0d80178819f2319190d340ce9a924f783711"),
    Builder("Eureka", "eurekabuilder.xyz", "0xfb74767c1ce1aada0a0e114441173b57f8c1571b"),
    Builder("Bombora", "bombora.build", "0x85c2e985a4fb5c3ff25ee27ee424abd851e4cb33"),
    Builder("bobTheBuilder", "bobthebuilder.xyz", "0xd87f3d6c5624e8b02be13c2c92f8511b88b94d96"),
    Builder("Builder+ (BTCS)", "btcs.com", "0x6adb3bab5730852eb53987ea89d8e8f16393c200"),
    Builder("bloXroute", "powered by bloxroute", "0xf2f5c73fa04406b1995e397b55c24ab1f3ea726c"),
    Builder("Bitget", "bitget.com"),
    Builder("Ultra Sound", "builder.ultrasound.money"),
    Builder("ETHGas", "ethgas"),
    Builder("beaverbuild", "beaverbuild.org"),
    Builder("rsync-builder", "rsync"),
    Builder("Flashbots", "illuminate dm"),
    Builder("penguinbuild", "penguinbuild.org"),
)


def builder_of(extra_data: bytes, fee_recipient: str | None) -> str:
    """Return the name of the builder; its extra data counts before its fee recipient."""
    text = extra_data.decode(errors="replace").lower()
    for builder in BUILDERS:
        if builder.mark in text:
            return builder.name
    recipient = None if fee_recipient is None else fee_recipient.lower()
    by_recipient = (each.name for each in BUILDERS if each.fee_recipient == recipient is not None)
    return next(by_recipient, UNKNOWN)
