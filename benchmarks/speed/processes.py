"""The rows about one process: decoding, the tracker, memory, start."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import cycle

from coincurve import PublicKey
from eth_account import Account

from benchmarks.speed import orders, quotes
from benchmarks.speed.load import load
from benchmarks.speed.row import Goal, Row, Spread, once, shown
from benchmarks.speed.stage import ROOT, Served, Stage, ready_to_swap
from benchmarks.speed.submission import signed_orders
from benchmarks.tracker_cost import SIZES, cost, each_us, log_nowhere
from quietswap.rules.tx.signed import decode
from quietswap.rules.vendors import kyberswap
from quietswap.sandbox.chain.anvil import start_anvil

_QUIETSWAP = (sys.executable, "-m", "quietswap")
_QUOTES, _SUBMISSIONS = 20, 2
"""Of 1 000 requests of the memory's row."""
_KEYS = 0xB0B3_0000
_CALLDATA = bytes.fromhex("e21fd0e9") + bytes(640)
"""As much as a swap of few hops has."""


async def decoding(rounds: int) -> list[Row]:
    """Decode, check and recover one signed transaction, beside the recovery alone."""
    account = Account.from_key(bytes([7]) * 32)
    fields = {
        "to": kyberswap.ROUTER, "data": _CALLDATA, "value": 0, "gas": 300_000, "nonce": 7,
        "maxFeePerGas": 10**10, "maxPriorityFeePerGas": 0, "chainId": 1, "type": 2,
    }  # fmt: skip
    signed = account.sign_transaction(fields)
    raw = signed.raw_transaction.to_0x_hex()
    signature = signed.r.to_bytes(32) + signed.s.to_bytes(32) + bytes([signed.v])
    digest = bytes(signed.hash)

    def recover() -> None:
        PublicKey.from_signature_and_message(signature, digest, hasher=None)

    pairs = [(_micro(lambda: decode(raw)), _micro(recover)) for _ in range(10 * rounds)]
    share = Spread.of(a / b for a, b in pairs)
    ours, alone = (Spread.of(pair[n] for pair in pairs) for n in (0, 1))
    beside = f"{shown(ours, 'µs')}; coincurve's recovery alone {shown(alone, 'µs')}"
    return [Row("decode, check and recover one transaction", share, beside, Goal(2, "×"))]


def _micro(work: Callable[[], object], times: int = 300) -> float:
    began = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times * 1e6


async def tracker(rounds: int) -> list[Row]:
    """CPU of one block, by the number of live orders."""
    log_nowhere()
    runs = [[await cost(size) for size in SIZES] for _ in range(min(rounds, 3))]
    few, many, most = (
        shown(Spread.of(run[n].cpu_ms for run in runs), "ms") for n in range(len(SIZES))
    )
    each = Spread.of(each_us(run[0], run[1]) for run in runs)
    growth = [
        Spread.of(run[n].cpu_ms / run[n - 1].cpu_ms for run in runs) for n in range(1, len(SIZES))
    ]
    worked = " and ".join(f"{runs[0][n].worked:.0f}" for n in (0, 1))
    told = f"{few} at 10, {many} at 1 000, {most} at 100 000"
    what = "tracker's CPU a block, live orders"
    return [
        Row(f"{what}: 100 000 over 1 000", growth[1], told, Goal(1.5, "×")),
        Row(f"{what}: 1 000 over 10", growth[0], told, Goal(1.5, "×")),
        Row(
            "tracker's CPU for each order that needs work, 10 to 1 000 live orders",
            each,
            f"{worked} orders a block are sent again or looked up",
            Goal(20, "µs"),
        ),
    ]


async def memory(stage: Stage, count: int) -> list[Row]:
    """Resident memory of server and worker at rest, and after many requests.

    Of 1 000 requests 978 are reads, 20 quotes and 2 submissions. Submissions come from a client of
    their own.
    """
    ours = await stage.service("memory", fill=orders.fill)
    reads = memory_reads(ours)
    number = count * _SUBMISSIONS // 1000
    accounts = [Account.from_key((_KEYS + place).to_bytes(32)) for place in range(number)]
    await ready_to_swap(stage.sandbox, [account.address for account in accounts])
    at_rest = ours.memory_mb()
    measured = []
    for tenth in range(10):
        some = accounts[tenth * number // 10 : (tenth + 1) * number // 10]
        submissions = await signed_orders(stage, ours, some)
        port = ours.service.port
        loads = [load(port, 64, count // 10 - len(submissions), reads)]
        loads += [load(port, 1, len(submissions), submissions)] if submissions else []
        await asyncio.gather(*loads)
        measured.append(ours.memory_mb())
    early, after = measured[0], measured[-1]
    told = f"at rest {shown(at_rest, 'MB')}, after {_spaced(count // 10)} {shown(early, 'MB')}"
    mixture = f"{_QUOTES / 10:g} % quotes, {_SUBMISSIONS / 10:g} % submissions"
    return [
        Row(
            f"memory after {_spaced(count)} requests, {mixture}",
            once(after),
            told,
            Goal(120, "MB"),
        ),
        Row(
            "memory: growth over the last nine tenths of them",
            once(after / early),
            f"{shown(after - early, 'MB')} more",
            Goal(1.05, "×"),
        ),
    ]


def memory_reads(ours: Served) -> list[bytes]:
    """Return statuses and pages with a quote after each 49 of them.

    What is kept of orders and pages comes to its full size: 4 000 orders, 80 pages.
    """
    reads = orders.statuses(ours.key)
    for place, page in enumerate(orders.pages(ours.key, (0, 50, 100, 150))):
        reads.insert(place * 51, page)
    asked = cycle(quotes.requests(ours))
    every = 1000 // _QUOTES - 1
    pieces = [reads[start : start + every] for start in range(0, len(reads), every)]
    return [request for piece in pieces for request in (*piece, next(asked))]


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


async def starting(rounds: int) -> list[Row]:
    """How long a person waits for the first word."""
    pairs = [(_run(*_QUIETSWAP, "--help"), _run(sys.executable, "-c", "pass")) for _ in range(7)]
    help_ms, bare_ms = (Spread.of(pair[n] for pair in pairs) for n in (0, 1))
    boots = [(_sandbox_s(), await _anvil_s()) for _ in range(rounds)]
    sandbox_s, anvil_s = (Spread.of(boot[n] for boot in boots) for n in (0, 1))
    return [
        Row("quietswap --help", help_ms, f"python -c pass {shown(bare_ms, 'ms')}", Goal(150, "ms")),
        Row(
            "quietswap sandbox until ready", sandbox_s, f"anvil alone {shown(anvil_s, 's')}",
            Goal(3, "s"),
        ),
    ]  # fmt: skip


def _run(*words: str) -> float:
    began = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return (time.perf_counter() - began) * 1000


def _sandbox_s() -> float:
    began = time.perf_counter()
    with subprocess.Popen(
        (*_QUIETSWAP, "sandbox", "--json", "--free-ports"), stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds = time.perf_counter() - began
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    return seconds


async def _anvil_s() -> float:
    began = time.perf_counter()
    anvil = await start_anvil(int(time.time()))
    seconds = time.perf_counter() - began
    await anvil.stop()
    return seconds
