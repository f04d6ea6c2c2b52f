"""Quotes of an honest and of a hostile service, as JSON."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.address import Address
from tests.api.scripted_use_cases import WALLET, cancel_quote
from tests.client.fake_servers import ETHER, MINIMUM, calldata, swap_quote, wrap_answer
from tests.quoting.loss_table import LOSSES
from tests.quoting.loss_table import quoted as losses
from tests.response_json import cancels, quotes
from tests.routers.router_calldata import ROUTER_OF
from tests.stored_orders import USDC
from tests.vendors.router import EXECUTOR, Swap
from tests.vendors.velora import v3_group
from tests.vendors.zeroex import encoded as zeroex

DAI = Address("0x6B175474E89094C44Da98b954EedeAC495271d0F")
USDT = Address("0xdAC17F958D2ee523a2206206994597C13D831ec7")
THIEF = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
FOREIGN = Address("0x1111111254EEB25477B68fb85Ed929f73A960582")
ORDER = "ord_1"


@dataclass(frozen=True)
class Case:
    """One quote. `node`: the client has a node, whose Deployer names `settlers`.

    `prices`: Chainlink's feeds answer there.
    """

    name: str
    flow: str
    request: dict[str, Any]
    answer: dict[str, Any]
    node: bool = False
    settlers: tuple[str, ...] = ()
    prices: bool = False


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _swaps()
    yield from _wraps()
    yield from _cancels()


def honest() -> dict[str, dict[str, Any]]:
    """Return the usual answer of each flow."""
    return {
        "swap": quoted(),
        "wrap": builtins({"quote": wrap_answer(WrapOperation.WRAP, ETHER)}),
        "cancel": builtins(cancels.cancel_quote_response(cancel_quote(ORDER))),
    }


def builtins(value: Any) -> Any:
    """Return an answer as it is after its way over the wire."""
    return json.loads(msgspec.json.encode(value))


def quoted(**changes: Any) -> dict[str, Any]:
    """Return the usual quote of a swap."""
    answer: dict[str, Any] = builtins(quotes.swap_quote_response(swap_quote(**changes)))
    return answer


def offered(source: str, data: bytes | None = None, **terms: Any) -> dict[str, Any]:
    """Return a quote of one router's method."""
    data = calldata(source, minimum=MINIMUM + 1, **terms) if data is None else data
    return quoted(target=ROUTER_OF[source], data=data)


def changed(answer: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return an answer with one member changed; ... removes it."""
    made = copy.deepcopy(answer)
    *parents, last = path.split(".")
    inner = made
    for parent in parents:
        inner = inner[parent]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return made


REQUEST = {
    "sell_token": WETH, "buy_token": USDC, "sell_amount": ETHER, "wallet": WALLET,
    "approval": "never",
}  # fmt: skip
_PARAMS = "mevProtection.transactionParams."
_CHANGES: tuple[tuple[str, Any], ...] = (
    ("sellToken", USDC), ("buyToken", WETH), ("buyToken", DAI), ("sellAmount", str(ETHER + 1)),
    ("sellToken", WETH.lower()), ("minBuyAmount", "0"), ("minBuyAmount", "2900000000"),
    ("minBuyAmount", str(MINIMUM + 2)), ("minBuyAmount", "3000000001"), ("buyAmount", "0"),
    ("buyAmount", "30000000000"), ("dexRoute.target", THIEF), ("dexRoute.data", "0x"),
    ("dexRoute.target", "0x12"), ("dexRoute.data", "0xabc"), ("dexRoute.data", "e21fd0e9"),
    (_PARAMS + "to", ROUTER_OF["velora"]), (_PARAMS + "data", "0xdeadbeef"),
    (_PARAMS + "value", "1"), (_PARAMS + "maxPriorityFeePerGas", "1"),
    (_PARAMS + "chainId", 137), (_PARAMS + "type", 0), (_PARAMS + "gasLimit", str(2**24 + 1)),
    (_PARAMS + "gasLimit", "20999"), (_PARAMS + "maxFeePerGas", str(10**13 + 1)),
    (_PARAMS + "maxFeePerGas", str(10**12)), (_PARAMS + "nonce", None),
    ("verification", {"status": "verified", "bound": False}), ("verification", None),
    # what does not follow the interface
    ("sellAmount", "-1"), ("sellAmount", "1e18"), ("sellAmount", ""), ("sellAmount", 10**18),
    ("sellAmount", str(2**256)), ("buyAmount", " 3000000000"), ("minBuyAmount", "٣"),
    ("minBuyAmount", ...), ("dexRoute", ...), ("dexRoute.data", None), ("mevProtection", []),
    (_PARAMS + "nonce", "7"), (_PARAMS + "nonce", -1), (_PARAMS + "nonce", 7.5),
    (_PARAMS + "nonce", 2**53), (_PARAMS + "value", None), (_PARAMS + "gasLimit", 262500),
    (_PARAMS + "type", "2"), (_PARAMS + "to", None), ("verification", {"status": 1}),
    ("verification", {"status": "verified", "bound": "yes"}), ("scoring.netValueUsd", 1e19),
    ("mevAnalysis.estimatedProtectionUsd", True), ("estimatedGas", -1),
)  # fmt: skip

_OFFERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("kyberswap", {}), ("velora", {}), ("sushi", {}), ("oneinch", {}), ("unoswap", {}),
    ("swapSimpleMode", {}), ("swapExactAmountInOnUniswapV2", {}), ("zeroex", {}),
    ("swapExactAmountInOnUniswapV3", {}), ("swapExactAmountInOnCurveV1", {}),
    ("swapExactAmountInOnCurveV2", {}), ("swapGeneric", {}),
    ("kyberswap", {"to": THIEF}), ("kyberswap", {"amount": 2 * ETHER}), ("sushi", {"to": THIEF}),
    ("kyberswap", {"sell": DAI}), ("kyberswap", {"buy": DAI}), ("kyberswap", {"flags": 1}),
    ("kyberswap", {"flags": 0x100}), ("kyberswap", {"flags": 0x20}),
    ("kyberswap", {"fee_bps": 10}), ("kyberswap", {"fee_bps": 10, "flags": 0x40}),
    ("kyberswap", {"permit": b"\1" * 224}),
    ("kyberswap", {"sell": "0x" + "0" * 40}), ("velora", {"buy": WETH}), ("velora", {"quoted": 1}),
    ("velora", {"partner": 1 << 60}), ("velora", {"fee_bps": 200}), ("velora", {"fee_bps": 16383}),
    ("velora", {"permit": b"\1"}), ("velora", {"to": THIEF}), ("oneinch", {"flags": 1}),
    ("oneinch", {"flags": 4}), ("zeroex", {"to": THIEF}),
    ("sushi", {"amount": 0}), ("unoswap", {"dex": 0x1234567890123456789012345678901234567890}),
    ("uniswap", {}), ("uniswap", {"to": THIEF}), ("uniswap", {"amount": 0}),
    ("uniswap", {"buy": DAI}), ("legs of uniswap", {}), ("legs of uniswap", {"to": THIEF}),
    ("legs of uniswap", {"sell": DAI}), ("unoswap", {"dex": 1 << 255}),
    ("unoswap", {"dex": 1 << 251 | 1}),
    ("swapExactAmountInOnUniswapV3", {"pools": v3_group(DAI, USDC)}),
    ("swapExactAmountInOnUniswapV3", {"pools": v3_group(WETH, DAI)}),
    ("swapExactAmountInOnUniswapV3", {"pools": v3_group(WETH, DAI) + v3_group(DAI, USDC)}),
    ("swapExactAmountInOnUniswapV3", {"pools": b"\1" * 95}),
    ("swapExactAmountInOnUniswapV2", {"pools": b""}),
    ("swapExactAmountInOnCurveV1", {"curve": 1 << 161}),
)  # fmt: skip


def _swaps() -> Iterator[Case]:
    usual = quoted()
    for path, value in _CHANGES:
        shown = "absent" if value is ... else json.dumps(value)
        for node in (False, True):
            where = "with a node" if node else "alone"
            answer = changed(usual, path, value)
            yield Case(f"{path} {shown}, {where}", "swap", REQUEST, answer, node)
    for source, terms in _OFFERS:
        answer = offered(source, **terms)
        name = f"{source} {_shown(terms)}".strip()
        yield Case(f"{name}, alone", "swap", REQUEST, answer)
        yield Case(f"{name}, with a node", "swap", REQUEST, answer, node=True)
    yield from _bytes()
    yield from _requests()
    yield from _losses()
    yield from _settlers()


def _shown(terms: dict[str, Any]) -> str:
    return " ".join(
        f"{name}={value.hex() if isinstance(value, bytes) else value}"
        for name, value in terms.items()
    )


def _bytes() -> Iterator[Case]:
    """Calldata that is cut, has no known method, or has offsets to nowhere."""
    whole = calldata(minimum=MINIMUM + 1)
    pieces = {
        "no calldata": b"", "half a selector": whole[:3], "only a selector": whole[:4],
        "an unknown method": b"\xde\xad\xbe\xef" + bytes(64),
        "of another router": calldata("sushi"),
        "cut": whole[:-96], "an offset to nowhere": whole[:4] + b"\xff" * 32 + whole[36:],
        "an address with upper bits": whole.replace(bytes(12) + bytes.fromhex(WALLET[2:]),
                                                    b"\1" * 12 + bytes.fromhex(WALLET[2:])),
    }  # fmt: skip
    for name, data in pieces.items():
        answer = quoted(target=ROUTER_OF["kyberswap"], data=data)
        for node in (False, True):
            where = "with a node" if node else "alone"
            yield Case(f"{name}, {where}", "swap", REQUEST, answer, node)


def _requests() -> Iterator[Case]:
    usual, foreign = quoted(), quoted(target=FOREIGN)
    dear = changed(usual, _PARAMS + "gasLimit", "16000000")
    dear = changed(dear, _PARAMS + "maxFeePerGas", str(4 * 10**9))
    yield Case("a foreign router", "swap", REQUEST, foreign)
    for more in (
        {"nonce": 7}, {"nonce": 8}, {"any_nonce": True}, {"at_least": MINIMUM},
        {"at_least": MINIMUM + 1}, {"slippage_bps": 1}, {"slippage_bps": 49},
        {"slippage_bps": 9999, "max_loss_percent": 100}, {"max_fee_wei": 1}, {"max_fee_wei": None},
    ):  # fmt: skip
        request, name = REQUEST | more, _shown(more)
        yield Case(f"asked with {name}, alone", "swap", request, usual)
        yield Case(f"asked with {name}, with a node", "swap", request, usual, node=True)
        yield Case(f"dear, asked with {name}", "swap", request, dear)
    for nonce in (6, 8, 0):
        answer = changed(usual, _PARAMS + "nonce", nonce)
        yield Case(f"nonce {nonce} with a node", "swap", REQUEST, answer, node=True)
        anyone = REQUEST | {"any_nonce": True}
        yield Case(f"any nonce, {nonce}, with a node", "swap", anyone, answer, node=True)
    usdt = REQUEST | {"buy_token": USDT}
    for source in ("kyberswap", "velora"):
        answer = changed(offered(source, buy=USDT), "buyToken", USDT)
        yield Case(f"a token with a fee on transfer at {source}", "swap", usdt, answer)


def _losses() -> Iterator[Case]:
    """What may be lost, as the caller accepts it or not."""
    for name, row in LOSSES.items():
        answer, asked = quoted(**losses(row)), REQUEST | {"slippage_bps": row.slippage_bps}
        answer["loss"] = {"level": "none", "bps": 0, "causes": []}  # a hostile service's
        for more in (
            {}, {"max_loss_percent": 0}, {"max_loss_percent": 15}, {"max_loss_percent": 100},
            {"at_least": 1}, {"max_impact_percent": 20}, {"max_impact_percent": 20, "at_least": 1},
        ):  # fmt: skip
            title, node = f"{name} {_shown(more)}".strip(), row.below is not None
            yield Case(title, "swap", asked | more, answer, node, prices=node)


def _settlers() -> Iterator[Case]:
    terms = Swap(WETH, USDC, ETHER, MINIMUM + 1, WALLET)
    other = zeroex(terms, operator=Address(THIEF))
    inner = zeroex(terms, inner=b"\xde\xad\xbe\xef" + bytes(96))
    for named in ((), (EXECUTOR,), (THIEF,), (THIEF, EXECUTOR), ("0x" + "0" * 40, EXECUTOR)):
        for name, data in (("0x", zeroex(terms)), ("operator", other), ("inner call", inner)):
            answer = quoted(target=ROUTER_OF["zeroex"], data=data)
            yield Case(
                f"{name}, Settlers {list(named)}",
                "swap",
                REQUEST,
                answer,
                node=True,
                settlers=named,
            )


def _wraps() -> Iterator[Case]:
    for operation in WrapOperation:
        usual = builtins({"quote": wrap_answer(operation, ETHER)})
        request = {"operation": operation.value, "amount": "1", "wallet": WALLET, "nonce": 7}
        request["replace"] = True  # the history is not asked, only the quote is judged
        params = "quote." + _PARAMS
        for path, value in (
            ("quote.operation", "wrap"), ("quote.operation", "unwrap"), ("quote.amountWei", "1"),
            (params + "to", THIEF), (params + "to", WETH.lower()), (params + "data", "0xd0e30db0"),
            (params + "data", "0x"), (params + "value", "0"), (params + "value", str(ETHER)),
            (params + "value", str(2 * ETHER)), (params + "maxPriorityFeePerGas", "1"),
            (params + "chainId", 10), (params + "type", 1), (params + "gasLimit", "1"),
            (params + "maxFeePerGas", str(10**14)), (params + "maxFeePerGas", str(10**12)),
            ("quote.amountWei", "one"), (params + "value", -1), ("quote", None),
        ):  # fmt: skip
            answer = changed(usual, path, value)
            name = f"{operation.value}: {path} {json.dumps(value)}"
            yield Case(f"{name}, alone", "wrap", request, answer)
            yield Case(f"{name}, with a node", "wrap", request, answer, node=True)
        small = request | {"amount": "0.001"}
        answer = builtins({"quote": wrap_answer(operation, ETHER // 1000)})
        for more in ({}, {"max_loss_percent": 13.5}, {"max_loss_percent": 13.51}):
            name = f"{operation.value} of little {_shown(more)}".strip()
            yield Case(f"{name}, alone", "wrap", small | more, answer)
            yield Case(f"{name}, with a node", "wrap", small | more, answer, node=True)


def _cancels() -> Iterator[Case]:
    usual = builtins(cancels.cancel_quote_response(cancel_quote(ORDER)))
    request = {"order_id": ORDER, "wallet": WALLET, "nonce": 7}
    for path, change in (
        ("orderId", ORDER), ("orderId", "ord_2"), ("transactionParams.to", THIEF),
        ("transactionParams.data", "0xa9059cbb"), ("transactionParams.value", "1"),
        ("transactionParams.gasLimit", "100001"), ("transactionParams.gasLimit", "26264"),
        ("transactionParams.nonce", None),
        ("transactionParams.nonce", 8), ("transactionParams.nonce", 3),
        ("transactionParams.maxPriorityFeePerGas", "1"), ("transactionParams.chainId", 10),
        ("transactionParams.maxFeePerGas", str(10**12)), ("transactionParams.type", 0),
        ("transactionParams", None), ("providerMetadata", None),
    ):  # fmt: skip
        answer = changed(usual, path, change)
        for more in ({}, {"nonce": None}, {"most_fee_wei": 1}):
            name = f"cancel: {path} {json.dumps(change)} {_shown(more)}"
            yield Case(f"{name}, alone", "cancel", request | more, answer)
            yield Case(f"{name}, with a node", "cancel", request | more, answer, node=True)
