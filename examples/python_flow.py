"""Wrap 0.2 ETH, then swap 0.1 WETH for USDC, with the standard library and eth-account."""

import json
import os
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from http.client import HTTPException
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from eth_account import Account
from eth_utils import keccak

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
TERMINAL = ("confirmed", "failed", "cancelled")
MOST_FEE_WEI = 2 * 10**16
"""Most that the gas of one transaction may cost: 0.02 ETH."""
METHODS = {
    "0x6131b5fae19ea4f9d964eac0408e4408b66337b5": ["0xe21fd0e9"],  # KyberSwap
    "0x6a000f20005980200259b80c5102003040001068": [  # Velora
        "0xe3ead59e",
        "0xe8bb3b6c",
        "0x876a02f6",
        "0x1a01c532",
        "0xe37ed256",
    ],
    "0xac4c6e212a361c968f1725b4d055b47e63f80b75": ["0x5f3bd1c8"],  # Sushi
    "0x0000000000001ff3684f28c67538d4d072c22734": ["0x2213bc0b"],  # 0x
    "0x111111125421ca6dc452d289314280a0f8842a65": ["0x07ed2379", "0x83800a8e"],  # 1inch
    "0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45": ["0x5ae401dc"],  # Uniswap
}
"""Routers that may be approved and called, and their methods that enforce the minimum."""

SETTINGS = ("QUIETSWAP_URL", "QUIETSWAP_API_KEY", "QUIETSWAP_RPC_URL", "QUIETSWAP_PRIVATE_KEY")
if missing := [name for name in SETTINGS if not os.environ.get(name)]:
    sys.exit(f"set {', '.join(missing)}: see examples/README.md")
T = TypeVar("T")


def setting(name: str, read: Callable[[str], T], what: str, default: str = "") -> T:
    """Return what `read` makes of a variable. If it cannot, end and say what the variable is."""
    try:
        return read(os.environ.get(name, default))
    except ValueError:
        sys.exit(f"{name} must be {what}")


def seconds(text: str) -> float:
    """Return a pause in s. Raises ValueError."""
    if not 0 < float(text) <= 3600:
        raise ValueError
    return float(text)


def base_url(text: str) -> str:
    """Return the address of a server without a slash at its end. Raises ValueError."""
    if not text.startswith(("http://", "https://")):
        raise ValueError
    return text.rstrip("/")


POLL = setting("POLL_SECONDS", seconds, "seconds above 0, at most 3600", "10")
account = setting("QUIETSWAP_PRIVATE_KEY", Account.from_key, "a private key")
wallet = account.address
URL = setting("QUIETSWAP_URL", base_url, "an http:// or https:// address")
NODE = setting("QUIETSWAP_RPC_URL", base_url, "an http:// or https:// address")
KEY = {"X-API-Key": os.environ["QUIETSWAP_API_KEY"]}


class NoAnswer(SystemExit):
    """Nothing that can be read came back; the program ends with this message unless it is caught.

    After a POST that submits, the order may exist: do not sign again.
    """


def fetch(url: str, headers: dict[str, str], body: Any = None) -> Any:
    """Return the JSON that a GET, or a POST where there is a body, is answered with.

    Raises NoAnswer.
    """
    data = None if body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **headers}
    request = Request(url, data, sent)  # noqa: S310  the addresses are the caller's own
    try:
        with urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.load(answer)
    except HTTPError as refusal:
        return refusal_of(refusal)
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswer(f"no answer: {getattr(error, 'reason', error)}") from error


def refusal_of(answer: HTTPError) -> Any:
    """Return the JSON of an answer with an error status. Raises NoAnswer."""
    try:
        return json.load(answer)
    except ValueError as error:
        raise NoAnswer(f"no answer: {answer}") from error


def ask(path: str, body: Any = None) -> Any:
    """Return `data` of the service's answer, or end with its error."""
    body = fetch(f"{URL}/api/v1{path}", KEY, body)
    if not isinstance(body, dict) or "ok" not in body:
        sys.exit("QUIETSWAP_URL is the address of something else")
    if not body["ok"]:
        sys.exit(f"{body['error']}: {body['message']} {body.get('details', '')}")
    return body["data"]


def rpc(method: str, *params: Any) -> Any:
    """Return the result of a call to the node."""
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    body = fetch(NODE, {}, call)
    if not isinstance(body, dict) or "jsonrpc" not in body:
        sys.exit("QUIETSWAP_RPC_URL is the address of something else")
    if "error" in body:
        sys.exit(f"{method}: {body['error']['message']}")
    return body["result"]


def next_nonce() -> int:
    """Return the wallet's transaction count."""
    return int(rpc("eth_getTransactionCount", wallet, "pending"), 16)


def signed(params: dict[str, Any]) -> str:
    """Sign transactionParams exactly as they came."""
    transaction = {
        "to": params["to"],
        "data": params["data"],
        "value": int(params["value"]),
        "gas": int(params["gasLimit"]),
        "maxFeePerGas": int(params["maxFeePerGas"]),
        "maxPriorityFeePerGas": int(params["maxPriorityFeePerGas"]),
        "nonce": params["nonce"],
        "chainId": params["chainId"],
        "type": params["type"],
    }
    raw: str = account.sign_transaction(transaction).raw_transaction.hex()
    return "0x" + raw.removeprefix("0x")


def hash_of(raw: str) -> str:
    """Return the hash of signed bytes: the service could name that of another transaction."""
    return "0x" + keccak(hexstr=raw).hex()


def check(params: dict[str, Any], to: str, value: int) -> None:
    """Refuse what was not asked for: the service may be hostile, or its answer changed."""
    fee = int(params["gasLimit"]) * int(params["maxFeePerGas"])
    faults = {
        f"the receiver {params['to']}": params["to"].lower() != to.lower(),
        f"{params['value']} wei of ETH": int(params["value"]) != value,
        "another chain or type": (params["chainId"], params["type"]) != (1, 2),
        f"gas for {fee} wei": fee > MOST_FEE_WEI,
        "a priority fee": int(params["maxPriorityFeePerGas"]) != 0,
    }
    if found := [name for name, is_so in faults.items() if is_so]:
        sys.exit(f"not signed: the transaction has {', '.join(found)}")


def check_wrap(quote: Any, amount: str) -> dict[str, Any]:
    """Return what to sign if it is exactly the wrap."""
    params: dict[str, Any] = quote["mevProtection"]["transactionParams"]
    check(params, WETH, int(Decimal(amount) * 10**18))
    if params["data"] != "0xd0e30db0":  # deposit()
        sys.exit("not signed: the transaction has another call than deposit()")
    return params


def check_swap(quote: Any, amount: int) -> dict[str, Any]:
    """Return what to sign if it is the swap, by a known router, without ETH.

    What the calldata does with the amount sold is checked by this project's clients alone, which
    decode and simulate it. Here an exact approval limits what can be lost to that amount.
    """
    params: dict[str, Any] = quote["mevProtection"]["transactionParams"]
    router = quote["dexRoute"]["target"]
    if (quote["sellToken"], quote["buyToken"], quote["sellAmount"]) != (WETH, USDC, str(amount)):
        sys.exit("not signed: the quote is for another swap")
    if params["data"][:10] not in METHODS.get(router.lower(), ()):
        sys.exit(f"not signed: {params['data'][:10]} of {router} is no known method of a router")
    check(params, router, 0)
    return params


def mined(tx_hash: str) -> None:
    """Wait for a receipt of success."""
    deadline = time.monotonic() + 300
    while (receipt := rpc("eth_getTransactionReceipt", tx_hash)) is None:
        if time.monotonic() > deadline:
            sys.exit(f"{tx_hash} is not mined")
        time.sleep(POLL)
    if int(receipt["status"], 16) != 1:
        sys.exit(f"{tx_hash} reverted")


def wrap(amount: str) -> None:
    """Turn ETH into WETH."""
    wish = {"operation": "wrap", "amount": amount, "userAddress": wallet}
    quote = ask("/mev/wrap/quote", wish)["quote"]
    raw = signed({**check_wrap(quote, amount), "nonce": next_nonce()})
    body = {
        "quoteId": quote["quoteId"],
        "operation": "wrap",
        "signedTransaction": raw,
        "providerMetadata": quote["mevProtection"]["providerMetadata"],
    }
    ask("/mev/wrap/order", body)
    mined(hash_of(raw))
    print("wrap confirmed", hash_of(raw))


def quoted(amount: int) -> Any:
    """Ask for a quote, and check it: an approval is public, and comes before the signature."""
    query = {
        "sellToken": WETH,
        "buyToken": USDC,
        "sellAmount": str(amount),
        "userAddress": wallet,
        "slippageBps": 50,
    }
    quote = ask(f"/quote?{urlencode(query)}")
    check_swap(quote, amount)
    return quote


def approve(router: str, amount: int) -> bool:
    """Let the router move the WETH, by an ordinary transaction; False where it already may."""
    words = f"{router[2:].lower():0>64}"
    allowance = rpc(
        "eth_call", {"to": WETH, "data": f"0xdd62ed3e{wallet[2:].lower():0>64}{words}"}, "latest"
    )
    if int(allowance, 16) >= amount:
        return False
    tip = int(rpc("eth_maxPriorityFeePerGas"), 16)
    base = int(rpc("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)
    params = {
        "to": WETH,
        "data": f"0x095ea7b3{words}{amount:064x}",
        "value": "0",
        "gasLimit": "60000",
        "maxFeePerGas": str(2 * base + tip),
        "maxPriorityFeePerGas": str(tip),
        "nonce": next_nonce(),
        "chainId": 1,
        "type": 2,
    }
    mined(rpc("eth_sendRawTransaction", signed(params)))
    return True


def order_params(quote: Any, slippage_bps: int) -> dict[str, Any]:
    """Return orderParams of a quote."""
    now, analysis = time.time(), quote["mevAnalysis"]
    saved = {"amount": analysis["estimatedProtectionUsd"], "currency": "USD"}
    return {
        "fromToken": quote["sellToken"],
        "toToken": quote["buyToken"],
        "amount": quote["sellAmount"],
        "minReturnAmount": quote["minBuyAmount"],
        "userAddress": wallet,
        "chainId": 1,
        "deadline": int(now) + 1800,
        "slippageBps": slippage_bps,
        "selectedTier": quote["mevProtection"]["providerMetadata"]["tier"],
        "threatAnalysis": {
            "threatScore": 50,
            "threatLevel": analysis["threatLevel"],
            "confidence": 1,
            "riskFactors": [],
            "estimatedSavings": {"estimatedProtection": saved},
            "timestamp": int(now * 1000),
        },
        "transactionValueUsd": quote["scoring"]["netValueUsd"],
        "dexRoute": {"target": quote["dexRoute"]["target"], "data": quote["dexRoute"]["data"]},
    }


def followed(order_id: str) -> Any:
    """Poll the order until it is decided."""
    deadline = time.monotonic() + 300
    while (record := ask(f"/mev/orders/{order_id}"))["status"] not in TERMINAL:
        if time.monotonic() > deadline:
            sys.exit(f"{order_id} is still {record['status']}")
        time.sleep(POLL)
    return record


def swap(amount: int) -> None:
    """Sell WETH for USDC. A fresh quote may name another router; an approval moves the nonce."""
    quote = quoted(amount)
    while approve(quote["dexRoute"]["target"], amount):
        quote = quoted(amount)
    raw = signed(check_swap(quote, amount))
    body = {
        "orderParams": order_params(quote, 50),
        "signedTransaction": raw,
        "providerMetadata": quote["mevProtection"]["providerMetadata"],
    }
    record = followed(ask("/mev/orders", body)["order"]["orderId"])
    print("swap", record["status"], hash_of(raw))
    if record["status"] != "confirmed":
        sys.exit(1)
    mined(hash_of(raw))


if __name__ == "__main__":
    wrap("0.2")
    swap(10**17)
