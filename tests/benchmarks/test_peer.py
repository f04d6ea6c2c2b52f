"""The peer of `make bench`, as far as it goes without its packages: no test installs them."""

import json
from pathlib import Path

import pytest

from benchmarks.speed import __main__ as speed
from benchmarks.speed import peer
from benchmarks.speed.quotes import _beyond
from benchmarks.speed.row import Goal, Spread, once

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "speed" / "peers"


def told(**changes: object) -> bytes:
    line = {"seconds": 2.0, "ms": [9.0, 11.0], "statuses": {"good": 2}, "last": "", "cpu_s": 0.5}
    return json.dumps(line | changes).encode() + b"\n"


def test_a_load_is_read_with_its_cpu() -> None:
    result, cpu_s = peer.read(told())
    assert (result.per_second, result.p50, cpu_s) == (1.0, 10.0, 0.5)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (told(statuses={"good": 1, "bad": 1}, last="Error: paraswap: 500"), "paraswap: 500"),
        (told(statuses={}, ms=[]), "{}"),
        (b"", "ended"),
    ],
)
def test_a_load_with_a_bad_quote_is_no_figure(line: bytes, says: str) -> None:
    with pytest.raises(RuntimeError, match=says):
        peer.read(line)


def test_a_row_stands_over_the_peer() -> None:
    ms = {
        "ours": Spread.of((6.0, 9.0, 5.0)), "careless": once(4.0),
        "bare": Spread.of((3.0, 3.0, 4.0)),
        "peer": once(8.0), "estimating": Spread.of((12.0, 12.0, 20.0)),
    }  # fmt: skip
    own, limit, ratio = _beyond("p50", ms, Goal(8, "ms"))
    assert (own.figure.median, own.is_met) == (6.0, True)
    assert own.beside == "verification off 4.00 ms, bare fan-out 3.00 ms (3.00–4.00)"
    assert limit.what == f"{own.what}: over the bare fan-out's"
    assert limit.figure.rounds == (2.0, 3.0, 1.25)
    assert not limit.is_met
    assert ratio.what == f"{own.what}: over Balmy's with gas estimates"
    assert ratio.figure.rounds == (0.5, 0.75, 0.25)  # each round over the same round of the peer
    assert ratio.is_met
    for words in ("12.0 ms (12.0–20.0)", "without its gas estimates 8.00 ms", "three of the four"):
        assert words in ratio.beside


def test_a_peer_at_the_limit_flatters_nobody() -> None:
    assert peer.over(6.0, 0.0) == peer.over(6.0, -1.0) == pytest.approx(600.0)


def test_without_its_packages_a_run_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(peer, "INSTALLED", tmp_path / "nothing")
    for words in (["latency"], ["decoding", "throughput"], []):
        with pytest.raises(SystemExit, match="2"):
            speed.arguments(words)
        assert capsys.readouterr().err.count("make benchmarks/speed/peers/") == 1
    assert speed.arguments(["decoding"]).parts == ["decoding"]


def test_the_packages_are_exact_and_tell_no_download_address() -> None:
    asked = json.loads((FOLDER / "package.json").read_text("utf-8"))["dependencies"]
    locked = json.loads((FOLDER / "package-lock.json").read_text("utf-8"))["packages"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in asked} == asked
    assert all(
        package.keys() >= {"version", "integrity"} for name, package in locked.items() if name
    )
    assert not any("resolved" in package for package in locked.values())
