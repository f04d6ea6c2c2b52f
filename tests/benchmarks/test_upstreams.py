"""The benchmark's upstreams: an answer for each swap, also for tokens that no one has seen."""

import json

from benchmarks.speed import fresh
from benchmarks.speed.upstreams import RECORDED_WALLET, Recorded, World, terms, wallet
from quietswap.sandbox.contracts.pools import DAI, POOLS, USDC, WETH

POOL = next(pool for pool in POOLS if {pool.first, pool.second} == {WETH, DAI})
BODY = f"{RECORDED_WALLET} sells {DAI.address} at {POOL.address}".lower()


def world() -> World:
    rows = [
        Recorded("/velora/swap", BODY, terms(DAI.address, WETH.address, 5)),
        Recorded("/velora/swap", "another", terms(WETH.address, USDC.address, 5)),
        Recorded("/kyberswap/build", "built", terms(WETH.address, USDC.address, 5)),
    ]
    return World(rows)


def said(answer: bytes | None) -> str:
    assert answer is not None
    return answer.partition(b"\r\n\r\n")[2].decode()


def swap(sell: str, buy: str) -> str:
    query = f"srcToken={sell}&destToken={buy}&amount=5&userAddress={wallet(9)}"
    request = f"GET /velora/swap?{query} HTTP/1.1\r\n\r\n".encode()
    return said(world().answer(b"GET", b"/velora/swap", request))


def test_each_swap_has_its_own_answer_with_its_own_wallet() -> None:
    assert swap(DAI.address, WETH.address) == BODY.replace(
        RECORDED_WALLET[2:].lower(), wallet(9)[2:].lower()
    )
    assert swap(WETH.address.lower(), USDC.address) == "another"


def test_a_swap_is_read_from_a_body_too() -> None:
    summary = {"tokenIn": WETH.address, "tokenOut": USDC.address, "amountIn": "5"}
    body = json.dumps({"routeSummary": summary}, separators=(",", ":")).encode()
    request = b"POST /kyberswap/build HTTP/1.1\r\n\r\n" + body
    assert said(world().answer(b"POST", b"/kyberswap/build", request)) == "built"


def test_a_fresh_token_stands_for_dai_with_pools_of_its_own() -> None:
    answers = [swap(fresh.token(number), WETH.address) for number in (1, 2)]
    for number, answer in zip((1, 2), answers, strict=True):
        assert fresh.token(number).lower() in answer
        assert DAI.address.lower() not in answer
        assert POOL.address.lower() not in answer
    assert answers[0] != answers[1]


def test_a_fresh_token_has_its_place_among_the_tokens_of_a_pool() -> None:
    for pool in POOLS:
        for one in {pool.first, pool.second} - {DAI}:
            below = int(fresh.token(7), 16) < int(one.address, 16)
            assert below is (int(DAI.address, 16) < int(one.address, 16))


def test_prices_are_served_for_known_and_fresh_tokens() -> None:
    token = fresh.token(3)
    line = f"GET /defillama/prices/current/ethereum:{token}?searchWidth=4h HTTP/1.1\r\n\r\n"
    llama = said(world().answer(b"GET", b"/defillama/prices/current/x", line.encode()))
    assert json.loads(llama)["coins"][f"ethereum:{token}"]["price"] == 1.0
    line = f"GET /coingecko/x?contract_addresses={WETH.address}&vs_currencies=usd HTTP/1.1\r\n\r\n"
    gecko = said(world().answer(b"GET", b"/coingecko/x", line.encode()))
    assert json.loads(gecko)[WETH.address.lower()]["usd"] == 3000.0
    line = f"GET /coingecko/x?contract_addresses={wallet(1)} HTTP/1.1\r\n\r\n"
    assert json.loads(said(world().answer(b"GET", b"/coingecko/x", line.encode()))) == {}


def test_the_control_tells_what_the_relay_received() -> None:
    one = world()
    control = b'POST /control HTTP/1.1\r\n\r\n{"delay_ms":0,"hangs":[]}'
    assert json.loads(said(one.answer(b"POST", b"/control", control))) == {"relayed": 0}
    one.answer(b"GET", b"/relay/tx/0x1", b"GET /relay/tx/0x1 HTTP/1.1\r\n\r\n")
    assert json.loads(said(one.answer(b"POST", b"/control", control))) == {"relayed": 1}
