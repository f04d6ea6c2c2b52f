"""What is compared: swaps, simulations, signers, wraps and cancels, honest and hostile."""

from dataclasses import replace
from typing import Any

from quietswap.rules import errors
from quietswap.rules.clients import KeyScope
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from quietswap.rules.routers.feeds import FEEDS
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import PARAMS, ROUTER, WALLET
from tests.client.fake_chain import transfer
from tests.client.fake_servers import (
    ETHER,
    MINIMUM,
    Reply,
    ok,
    refused,
    swap_quote,
)
from tests.client.fake_usage import usage_answer
from tests.client.test_after_signing import said
from tests.client.test_cancel_flow import GONE, ORDER, SWAP_HASH, CancelService, placed
from tests.client.test_polling import AWAY, at
from tests.client.test_simulation import HARMLESS, SELLS, THEFTS
from tests.client.test_swap_flow import OTHER_ROUTER
from tests.client.test_transaction_hash_mismatch import LIE, status
from tests.client.test_unbound import offered
from tests.quoting.loss_table import LOSSES
from tests.quoting.loss_table import quoted as losses
from tests.stored_orders import USDC
from tests.typescript.both import KEY, Prepare, Scenario, but
from tests.typescript.prepare import (
    after_sending,
    busy,
    history,
    indexing,
    lies,
    mined,
    never_mined,
    node,
    open_at,
    quoted,
    says,
    service,
    swap_mined,
    too_deep,
)

_ETHER, _DOLLAR = FEEDS[WETH].address, FEEDS[USDC].address
PRICES = {_ETHER: 3000, _ETHER.lower(): 3000, _DOLLAR: 1, _DOLLAR.lower(): 1}
"""USD by feed; TypeScript spells addresses in lower case."""
DEAR = PRICES | {_ETHER: 3200, _ETHER.lower(): 3200}
SWAP = Scenario(
    "swap",
    {"sell_token": WETH, "buy_token": USDC, "sell_amount": ETHER, "wallet": WALLET},
    (node(prices=PRICES),),
)
ALONE = replace(but(SWAP, approval="never"), node=False)
WRAP = Scenario("wrap", {"amount": "2", "wallet": WALLET})
CANCEL = Scenario("cancel", {"order_id": ORDER, "wallet": WALLET, "nonce": 7}, kind=CancelService)
OTHER_HASH = "0x" + "6b" * 32
BUSY = (429, 503, -32005, -32016)


def _signed(tx_hash: str) -> dict[str, dict[str, Any]]:
    sent = {"what": "the swap", "tx_hash": tx_hash, "wallet": WALLET, "nonce": 7}
    return {ORDER: sent | {"order_id": ORDER}}


SIGNED = replace(CANCEL, orders=_signed(SWAP_HASH))
SEEN = (node(transactions={SWAP_HASH: {"from": WALLET, "nonce": "0x7"}}),)


def _holds(balance: int, allowance: int) -> Prepare:
    return node(balance=balance, allowances={ROUTER.lower(): allowance})


_open = history(None)
MINED_HASH, OPEN_HASH = "0x" + "8a" * 32, "0x" + "8b" * 32
NO_ALLOWANCE = node(allowances={})
NO_HASH = at(OrderStatus.FAILED)
del NO_HASH.body["data"]["txHash"]
FEE = 3 * 10**9

_RECEIVE = but(SWAP, sell_amount=None, at_least=MINIMUM, max_sell=ETHER)

RECEIVED: dict[str, tuple[Scenario, str | None]] = {
    "as asked": (_RECEIVE, None),
    "approval of the most": (but(_RECEIVE, NO_ALLOWANCE, max_sell=2 * ETHER), None),
    "allowance enough": (but(_RECEIVE, max_sell=2 * ETHER), None),
    "a lower minimum": (but(_RECEIVE, at_least=MINIMUM + 1), "UnsafeQuote"),
    "too much sold": (but(_RECEIVE, max_sell=ETHER - 1), "QuoteDeclined"),
    "more than the wallet has": (but(_RECEIVE, node(balance=ETHER - 1)), "QuoteDeclined"),
}
"""Swaps for a minimum, with the error that each ends with."""

SWAPS: dict[str, Scenario] = {
    "usual": SWAP,
    "alone": ALONE,
    "provider": replace(SWAP, signer={"key": KEY, "provider": True}),
    "approval": but(SWAP, NO_ALLOWANCE),
    "approval of the maximum": but(SWAP, NO_ALLOWANCE, approval="max"),
    "no approval wanted": but(SWAP, NO_ALLOWANCE, approval="never"),
    "approval with a nonce": but(SWAP, NO_ALLOWANCE, nonce=7),
    "reset first": but(SWAP, node(allowances={ROUTER.lower(): 5}, resets_first=True)),
    "no reset needed": but(SWAP, node(allowances={ROUTER.lower(): 5})),
    "metadata too deep": but(SWAP, says("quote", too_deep())),
    "approval dear": but(SWAP, NO_ALLOWANCE, node(tip=10**14)),
    "approval dear, no limit": but(SWAP, NO_ALLOWANCE, node(tip=10**14), max_fee_wei=None),
    "approval reverts": but(SWAP, NO_ALLOWANCE, node(reverts=True)),
    "approval unanswered": but(SWAP, NO_ALLOWANCE, node(swallows=True)),
    "approval, a node is behind": but(SWAP, NO_ALLOWANCE, node(lags=2)),
    "approval, a backend is late": but(SWAP, NO_ALLOWANCE, node(lates=2, delivers=MINIMUM)),
    "reset first, a backend is late": but(
        SWAP, node(lates=2, delivers=MINIMUM, allowances={ROUTER.lower(): 5}, resets_first=True)
    ),
    "approval, another is mined": but(
        SWAP, NO_ALLOWANCE, node(waiting=1, settles=1), any_nonce=True
    ),
    "approval, another waits": but(SWAP, NO_ALLOWANCE, node(waiting=1), any_nonce=True),
    "approval, its state is gone": but(SWAP, NO_ALLOWANCE, node(state_from=19_000_001)),
    "approval late": but(SWAP, NO_ALLOWANCE, node(holds=1)),
    "approval, order open": but(
        SWAP, NO_ALLOWANCE, says("history", _open)
    ),
    "approval, order in a block": but(
        SWAP, NO_ALLOWANCE, mined(MINED_HASH), says("history", history(MINED_HASH))
    ),
    "approval, another order open": but(
        SWAP, NO_ALLOWANCE, mined(MINED_HASH), says("history", history(MINED_HASH, OPEN_HASH))
    ),
    "approval, order open, replace": but(SWAP, NO_ALLOWANCE, says("history", _open), replace=True),
    "approval, order after a gap": but(SWAP, NO_ALLOWANCE, open_at(10)),
    "approval, order at its last nonce": but(SWAP, NO_ALLOWANCE, open_at(9)),
    "two routers": but(
        SWAP, NO_ALLOWANCE, says("quote", quoted(), quoted(target=OTHER_ROUTER))
    ),
    "wrong chain": but(SWAP, node(chain_id=137)),
    "too little": but(SWAP, node(balance=ETHER - 1)),
    "too little ETH": but(SWAP, NO_ALLOWANCE, node(ether=ETHER // 10**4)),
    "read key": but(SWAP, NO_ALLOWANCE, says("usage", ok(usage_answer(scope=KeyScope.READ)))),
    "read key, alone": but(ALONE, says("usage", ok(usage_answer(scope=KeyScope.READ)))),
    "scope late": but(SWAP, says("usage", AWAY, AWAY)),
    "scope denied": but(SWAP, says("usage", said("UNAUTHORIZED", 401))),
    "at least": but(SWAP, at_least=MINIMUM + 1),
    "node behind": but(SWAP, node(nonce=8)),
    "node far behind": but(SWAP, node(nonce=6)),
    **{f"busy node {code}": but(SWAP, NO_ALLOWANCE, busy(code)) for code in BUSY},
    "very busy node": but(SWAP, NO_ALLOWANCE, busy(429, 3)),
    "always busy node": but(SWAP, NO_ALLOWANCE, busy(429, 99)),
    "busy since the approval": but(SWAP, NO_ALLOWANCE, after_sending("eth_getTransactionReceipt")),
    "any nonce": but(SWAP, node(nonce=8), any_nonce=True),
    "nonce given": but(SWAP, nonce=7),
    "base fee": but(SWAP, node(base_fee=1)),
    "base fee above the cap": but(SWAP, node(base_fee=7 * 10**9)),
    "receipt late": but(SWAP, node(holds=2)),
    "received": but(SWAP, node(logs=[transfer(USDC, ROUTER, WALLET, 1000),
                                     transfer(USDC, WALLET, ROUTER, 1),
                                     transfer(WETH, ROUTER, WALLET, 70),
                                     {"address": USDC, "topics": [], "data": "0x"}])),
    "order unanswered": but(
        SWAP, says("order", Reply(None), refused(errors.SignatureReplay(order_id="ord_9")))
    ),
    "order unanswered thrice": but(SWAP, never_mined, says("order", *[Reply(None)] * 3)),
    "replay at once": but(
        SWAP, never_mined, says("order", refused(errors.SignatureReplay(order_id="ord_9")))
    ),
    "order named": but(ALONE, says("order", said("PROVIDER_UNAVAILABLE", 503, orderId="x" * 500))),
    "order not named": but(ALONE, says("order", said("PROVIDER_UNAVAILABLE", 503, orderId=5))),
    "store away": but(
        SWAP, says("order", said("PROVIDER_UNAVAILABLE", 503, reason="STORE_UNAVAILABLE"))
    ),
    "another hash": but(SWAP, lies(order=LIE)),
    "another hash, never mined": but(SWAP, never_mined, lies(order=LIE)),
    "another hash, alone": but(ALONE, lies(order=LIE)),
    "another hash later": but(
        SWAP, says("status", status(OrderStatus.PENDING), status(tx_hash=LIE))
    ),
    "polls": but(SWAP, says("status", *map(at, [
        OrderStatus.PENDING, OrderStatus.SUBMITTED, OrderStatus.MINING]))),
    "trouble": but(SWAP, says("status", AWAY, Reply(b"", 502), Reply(None), AWAY,
                              at(OrderStatus.MINING), AWAY)),
    "rate limit": but(SWAP, says("status", refused(errors.RateLimitExceeded(
        retry_after=100_000, limit=1, window=60)))),
    "open for ever": but(SWAP, never_mined, says("status", *[at(OrderStatus.MINING)] * 40)),
    "open, but mined": but(SWAP, says("status", *[at(OrderStatus.MINING)] * 40)),
    "open for ever, alone": but(ALONE, says("status", *[at(OrderStatus.MINING)] * 40)),
    "called off, mined": but(SWAP, says("status", at(OrderStatus.FAILED))),
    "called off, no hash": but(SWAP, says("status", NO_HASH)),
    "confirmed, reverted": but(SWAP, node(reverts=True, holds=2)),
    "confirmed, unseen": but(SWAP, never_mined),
    "confirmed, node away": but(SWAP, node(forgets=True)),
    "status denied": but(SWAP, never_mined, says("status", said("ORDER_NOT_FOUND", 404))),
    "no proof, whatever the node delivers": but(
        SWAP, node(delivers=MINIMUM), says("quote", offered("swapGeneric"))
    ),
    "garbage": but(SWAP, says("quote", Reply(b"<html>", 200))),
    "gateway": but(SWAP, says("quote", Reply(b"<html>", 502))),
    "too large": but(SWAP, says("quote", Reply(b" " * (4 * 2**20 + 1), 200))),
    "not UTF-8": but(SWAP, says("quote", Reply(b'{"ok": true, "data": "\xff"}', 200))),
    "redirect": but(SWAP, says("quote", Reply(b"", 302, {"Location": "/elsewhere"}))),
}  # fmt: skip

_AT_8 = but(SWAP, says("quote", quoted(params=replace(PARAMS, nonce=8))), nonce=8)
BEHIND: dict[str, tuple[Scenario, str | None]] = {
    name: (but(_AT_8, *prepare), lacks)
    for name, prepare, lacks in (
        ("as much is left", (open_at(7, ETHER), _holds(2 * ETHER, 2 * ETHER)), None),
        ("a balance of less", (open_at(7, ETHER), _holds(2 * ETHER - 1, 9 * ETHER)), "the wallet"),
        ("an allowance of less", (open_at(7, ETHER), _holds(9 * ETHER, 2 * ETHER - 1)), ROUTER),
        ("an unknown nonce", (open_at(None, ETHER), _holds(9 * ETHER, ETHER)), ROUTER),
        ("its own nonce", (open_at(8, ETHER), _holds(ETHER, ETHER)), None),
        ("a later nonce", (open_at(9, ETHER), _holds(ETHER, ETHER)), None),
        ("an unwrap", (open_at(7, ETHER, "wrap"), _holds(2 * ETHER, ETHER)), None),
        ("an unwrap of more", (open_at(7, ETHER, "wrap"), _holds(2 * ETHER - 1, 0)), "the wallet"),
        ("a cancel", (open_at(7, ETHER, "cancel"), _holds(ETHER, ETHER)), None),
        ("no order", (_holds(ETHER, ETHER),), None),
        ("an approval that it needs", (open_at(7, ETHER), _holds(2 * ETHER, 0)), ROUTER),
    )
}  # fmt: skip
"""Swaps behind an open order, and what they lack."""
for _nonce, _token, _amount, _lacks in (
    (7, WETH, ETHER, ROUTER),
    (7, WETH, ETHER - 1, None),
    (7, USDC, ETHER, None),
    (6, WETH, ETHER, None),
    (8, WETH, ETHER, None),
):
    _sold = {
        "what": "the swap", "tx_hash": OTHER_HASH, "wallet": WALLET, "nonce": _nonce,
        "sell_token": _token, "sell_amount": _amount,
    }  # fmt: skip
    _record = {name: _sold | {"order_id": name} for name in ("ord_5", "ord_6")}
    BEHIND[f"signed here, {_amount} of {_token} at {_nonce}"] = (
        replace(but(_AT_8, _holds(9 * ETHER, 2 * ETHER - 1)), orders=_record), _lacks
    )  # fmt: skip
BEHIND["any nonce"] = (but(BEHIND["an allowance of less"][0], nonce=None, any_nonce=True), ROUTER)
BEHIND["a public order"] = (
    but(BEHIND["an allowance of less"][0], node(nonce=7, waiting=1), nonce=None), ROUTER
)  # fmt: skip

_CONSENTS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("", {}), (", not confirmed", {"confirm": False}), (", confirmed", {"confirm": True}),
)  # fmt: skip
SWAPS |= {
    f"loss, {name}{how}": but(
        SWAP, says("quote", quoted(**losses(LOSSES[name]))),
        node(prices={} if LOSSES[name].below is None else PRICES),
        slippage_bps=LOSSES[name].slippage_bps, **more,
    )
    for name in ("impact of a question", "slippage to type", "price unknown", "below the reference")
    for how, more in _CONSENTS
}  # fmt: skip

TRIALS: dict[str, Scenario] = {
    **{
        f"gas of a third{how}": but(
            SWAP, node(delivers=MINIMUM, prices=PRICES, base_fee=1667 * 10**9),
            says("quote", quoted(params=replace(PARAMS, max_fee_per_gas=1667 * 10**9))),
            max_fee_wei=None, **more,
        )
        for how, more in _CONSENTS
    },
    "delivers": but(SWAP, node(delivers=MINIMUM)),
    "a node that knows no beacon root": but(SWAP, node(delivers=MINIMUM, root_name=None)),
    "a node that knows Besu's beacon root": but(
        SWAP, node(delivers=MINIMUM, root_name="parentBeaconBlockRoot")
    ),
    "delivers, velora": but(
        SWAP, node(delivers=MINIMUM, allowances={OTHER_ROUTER.lower(): ETHER}),
        says("quote", quoted(target=OTHER_ROUTER)),
    ),
    "too little": but(SWAP, node(delivers=MINIMUM - 1)),
    "reverts": but(SWAP, node(delivers=MINIMUM, trial_reverts=True)),
    "gas": but(SWAP, node(delivers=MINIMUM, trial_gas=20_000)),
    **{
        f"gas limit, peak {peak}": but(
            SWAP, node(delivers=MINIMUM, trial_gas=202_080, trial_peak=peak),
            says("quote", quoted(params=replace(PARAMS, gas_limit=1_050_000))),
        )
        for peak in (None, 299_999, 300_000)
    },
    **{
        f"gas limit without a peak, needs {needs}": but(
            SWAP, node(delivers=MINIMUM, trial_gas=202_080, trial_needs=needs, is_amsterdam=True),
            says("quote", quoted(params=replace(PARAMS, gas_limit=1_050_000))),
        )
        for needs in (300_000, 300_001)
    },
    "gas limit": but(SWAP, node(delivers=MINIMUM, trial_gas=21_000, base_fee=10**8),
                     says("quote", quoted(params=replace(
                         swap_quote().params, gas_limit=600_000)))),
    "takes more": but(SWAP, node(delivers=MINIMUM, takes=ETHER + 1)),
    **{
        f"transfer fee {index}": but(
            SWAP, node(delivers=MINIMUM, allowances={OTHER_ROUTER.lower(): ETHER}, **fees),
            says("quote", quoted(target=OTHER_ROUTER)),
        )
        for index, fees in enumerate(
            ({"transfer_fee_bps": 1}, {"payer_fee_bps": 1}, {"payer_fails": True},
             {"probe_steps": 4})
        )
    },
    **{
        f"theft {index}": but(SWAP, node(delivers=MINIMUM, trial_logs=logs, takes=takes))
        for index, (logs, takes, _) in enumerate(THEFTS)
    },
    **{
        f"harmless {index}": but(SWAP, node(delivers=MINIMUM, trial_logs=logs))
        for index, logs in enumerate(HARMLESS)
    },
    "sells": but(SWAP, node(delivers=MINIMUM, trial_logs=[SELLS], takes=ETHER)),
    **{
        f"impact {most} %, sold {part}": but(
            SWAP, node(delivers=MINIMUM, prices=prices, price_age=age),
            max_impact_percent=most, **more,
        )
        for most in (0, 3, 100)
        for part, prices, age, more in (
            ("fair", PRICES, 0, {}),
            ("dear", DEAR, 0, {}),
            ("stale", PRICES, 10**6, {}),
            ("stale, at least", PRICES, 10**6, {"at_least": 1}),
            ("no feed", {}, 0, {}),
        )
    },
}  # fmt: skip

SIGNERS: dict[str, dict[str, Any]] = {
    "another wallet": {"key": "0x" + "11" * 32},
    "no transaction": {"returns": "0x1234"},
    "nothing": {"returns": ""},
    "no hex": {"returns": "signed"},
    "a number": {"returns": 5},
    **{
        f"another {name}": {"key": KEY, "change": {name: value}}
        for name, value in (
            ("to", OTHER_ROUTER), ("value", 1), ("nonce", 8), ("data", "0x"), ("chainId", 137),
            ("gas", 262_499), ("maxFeePerGas", FEE), ("maxPriorityFeePerGas", 1),
        )
    },
}  # fmt: skip

WRAPS: dict[str, Scenario] = {
    "wrap": WRAP,
    "unwrap": replace(WRAP, method="unwrap"),
    "alone": replace(but(WRAP, nonce=7), node=False),
    **{f"little{how}": but(WRAP, amount="0.001", **more) for how, more in _CONSENTS},
    "order open": but(WRAP, says("history", _open)),
    "order in a block": but(WRAP, mined(MINED_HASH), says("history", history(MINED_HASH))),
    "another order open": but(
        WRAP, mined(MINED_HASH), says("history", history(MINED_HASH, OPEN_HASH))
    ),
    "order open, nonce given": but(WRAP, says("history", _open), nonce=7),
    "order open, nonce given, alone": replace(
        but(WRAP, says("history", _open), nonce=7), node=False
    ),
    "order open, replace": but(WRAP, says("history", _open), replace=True),
    **{f"order open at {nonce}": but(WRAP, open_at(nonce)) for nonce in (None, 6, 7, 8)},
    "reverts": but(WRAP, node(reverts=True)),
    "never mined": but(WRAP, never_mined),
    "node fails": but(WRAP, node(forgets=True)),
    "receipt a block late": but(WRAP, node(holds=6)),
    "too little ETH": but(WRAP, node(ether=2 * ETHER)),
    "too little WETH": replace(but(WRAP, node(balance=2 * ETHER - 1)), method="unwrap"),
    "unwrap, too little ETH": replace(but(WRAP, node(ether=0)), method="unwrap"),
    "fails": but(WRAP, node(refusal="execution reverted")),
    "needs more gas": but(WRAP, node(gas=10**6)),
    "nonce used": but(WRAP, nonce=6),
    "nonce with a gap": but(WRAP, nonce=8),
    "nonce with a gap, replace": but(WRAP, nonce=8, replace=True),
    "base fee": but(WRAP, node(base_fee=1)),
    "wrong chain": but(WRAP, node(chain_id=5)),
    "busy node": but(WRAP, busy(-32005, 2)),
    "a node that indexes": but(WRAP, indexing(3)),
    "another hash": but(WRAP, lies(**{"wrap order": LIE})),
    "unanswered": but(WRAP, says("wrap order", Reply(None), Reply(None))),
    "unanswered thrice": but(WRAP, never_mined, says("wrap order", *[Reply(None)] * 3)),
    "refused": but(WRAP, never_mined, says("wrap order", said("NONCE_TOO_LOW", 409))),
    "refused, mined": but(WRAP, says("wrap order", said("NONCE_TOO_LOW", 409))),
}

CANCELS: dict[str, Scenario] = {
    "wins": CANCEL,
    "alone": replace(CANCEL, node=False),
    "busy node": but(CANCEL, busy(-32016, 2)),
    "no nonce": but(CANCEL, nonce=None),
    "own hash": but(CANCEL, nonce=None, tx_hash=SWAP_HASH),
    "own hash, known": but(CANCEL, *SEEN, nonce=None, tx_hash=SWAP_HASH),
    "another hash": but(CANCEL, tx_hash=OTHER_HASH),
    "known, named by the service": but(CANCEL, *SEEN, nonce=None),
    "signed here": but(SIGNED, nonce=None),
    "signed here, alone": replace(but(SIGNED, nonce=None), node=False),
    "signed here, another nonce": but(SIGNED, nonce=8),
    "signed here, another hash": but(SIGNED, tx_hash=OTHER_HASH),
    "signed here, another named": replace(but(SIGNED, nonce=None), orders=_signed(OTHER_HASH)),
    "signed here, swap won": but(SIGNED, service(mines=lambda _: None), *SEEN, mined(SWAP_HASH)),
    "known as another": but(
        CANCEL, node(transactions={SWAP_HASH: {"from": WALLET, "nonce": "0x6"}})
    ),
    "swap won": but(CANCEL, service(
        ends=placed(OrderStatus.CONFIRMED),
        cancel=placed(OrderStatus.CANCELLED, failure=Failure(FailureCode.REPLACED, "used")),
    )),
    "swap won, alone": replace(
        but(CANCEL, service(ends=placed(OrderStatus.CONFIRMED))), node=False
    ),
    "ended": but(CANCEL, service(
        refuses=refused(errors.ValidationError("ended", reason="ORDER_ENDED")),
        ends=placed(OrderStatus.CONFIRMED),
    )),
    "refused": replace(
        but(CANCEL, service(refuses=refused(errors.ValidationError("no", reason="REFUSED")))),
        node=False,
    ),
    "refused, with a node": but(
        CANCEL, service(refuses=refused(errors.ValidationError("no", reason="REFUSED")))
    ),
    "nothing shown": but(CANCEL, never_mined),
    "swap mined": but(CANCEL, swap_mined),
    "swap mined, its sender unknown": but(CANCEL, swap_mined, node(hides=SWAP_HASH)),
    "fails": but(CANCEL, node(refusal="execution reverted")),
    "needs more gas": but(CANCEL, node(gas=21_011)),
    "nonce used": but(CANCEL, node(nonce=8)),
    "fee": but(CANCEL, most_fee_wei=1),
    "nonce of another": but(CANCEL, nonce=8),
    "too little ETH": but(CANCEL, node(ether=1)),
    "stays open": but(CANCEL, never_mined, service(
        ends=placed(OrderStatus.MINING), cancel=placed(OrderStatus.MINING))),
    "stays open, alone": replace(but(CANCEL, service(
        ends=placed(OrderStatus.MINING), cancel=placed(OrderStatus.MINING))), node=False),
    "gone": but(CANCEL, service(ends=placed(OrderStatus.CANCELLED, failure=GONE))),
}  # fmt: skip
