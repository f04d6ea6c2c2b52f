"""The genesis for a real node. Whether geth takes it is shown by tests/nodes."""

from pathlib import Path

import pytest

from quietswap.sandbox.chain import geth
from quietswap.sandbox.chain.genesis import genesis, read_alloc
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.contracts.pools import WETH
from quietswap.sandbox.npm import MissingPackage

SYSTEM = (
    "0x000f3df6d732807ef1319fb7b8bb8522d0beac02", "0x0000f90827f1c53a10cb7a02335b175320002935",
    "0x00000961ef480eb55e80d19ad83579a64c007002", "0x0000bbddc7ce488642fb579f8b00f3a590007251",
)  # fmt: skip
"""Of EIP-4788, EIP-2935, EIP-7002 and EIP-7251."""


async def test_the_state_of_anvil_becomes_the_alloc(chain: LocalChain) -> None:
    alloc = await read_alloc(chain.rpc)
    weth = alloc[WETH.address.lower()]
    assert weth["code"] == await chain.rpc.call("eth_getCode", WETH.address, "latest")
    slot, word = next(iter(weth["storage"].items()))
    assert word == await chain.rpc.call("eth_getStorageAt", WETH.address, slot, "latest")
    # a word of zero is no storage: some nodes count it in their state root
    words = [word for account in alloc.values() for word in account.get("storage", {}).values()]
    assert words
    assert all(int(word, 16) for word in words)
    assert all(alloc[at]["nonce"] == "0x1" and len(alloc[at]["code"]) > 100 for at in SYSTEM)


async def test_an_empty_account_is_left_out(chain: LocalChain) -> None:
    """The fee recipient is touched by each block: geth builds such blocks and then refuses them."""
    assert await chain.rpc.number("eth_getBalance", addresses.BUILDER, "latest") == 0
    assert addresses.BUILDER.lower() not in await read_alloc(chain.rpc)


def test_the_rules_are_mainnets_and_amsterdams_when_asked_for() -> None:
    today = genesis({}, 1_700_000_000)["config"]
    assert (today["chainId"], today["osakaTime"], today["bpo2Time"]) == (1, 0, 0)
    assert "amsterdamTime" not in today
    later = genesis({}, 1_700_000_000, 1_700_000_060)["config"]
    assert later["amsterdamTime"] == 1_700_000_060
    assert later["blobSchedule"].keys() - today["blobSchedule"].keys() == {"amsterdam"}


def test_geth_is_found_in_the_environment_then_in_the_cache_then_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("QUIETSWAP_GETH", raising=False)
    with pytest.raises(MissingPackage, match=rf"go install .*@v{geth.VERSION}"):
        geth.find_geth()
    places = [tmp_path / "bin" / "geth", geth.installed_geth(), tmp_path / "chosen"]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
        if place is places[-1]:
            monkeypatch.setenv("QUIETSWAP_GETH", str(place))
        assert geth.find_geth() == str(place)
    places[-1].chmod(0o644)
    with pytest.raises(MissingPackage, match="QUIETSWAP_GETH"):
        geth.find_geth()
