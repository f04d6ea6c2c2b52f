"""The server of a wallet app: it quotes, submits what the wallet signed, and hears of each change.

It has no private key. The wallet app (`wallet_app.py` stands for one) asks this server, and this
server asks quietswap with the API key, which never leaves it. A signed webhook reports each change
of an order. It listens without TLS and without a login of its users: add both.

    POST /quotes         {"wallet", "sellToken", "buyToken", "sellAmount"}: what to sign
    POST /orders         {"quoteId", "signedTransaction"}: the order
    GET  /orders/ORDER   the last event of an order
    POST /webhook        for quietswap; WEBHOOK_SECRET is the secret of this webhook
"""

import json
import os
import secrets
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError
from standardwebhooks.webhooks import EmptyWebhookSecretError

from quietswap.client import QuietswapClient
from quietswap.client.errors import ApiError, ClientError, SignatureReplay
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.contract.orders import OrderStatusResponse, SwapOrder
from quietswap.contract.quotes import SwapQuoteResponse

BODY_LIMIT = 1 << 20
SETTINGS = ("QUIETSWAP_URL", "QUIETSWAP_API_KEY", "WEBHOOK_SECRET")
if missing := [name for name in SETTINGS if not os.environ.get(name)]:
    sys.exit(f"set {', '.join(missing)}: see examples/README.md")


def service() -> QuietswapClient:
    """Open a client with the API key of this server."""
    return QuietswapClient(os.environ["QUIETSWAP_URL"], os.environ["QUIETSWAP_API_KEY"])


try:
    webhook = Webhook(os.environ["WEBHOOK_SECRET"])
    port = int(os.environ.get("BACKEND_PORT", "9100"))
    service().close()
except (ValueError, EmptyWebhookSecretError) as error:
    sys.exit(f"{', '.join(SETTINGS)} or BACKEND_PORT is wrong: {error}")
quotes: dict[str, tuple[SwapQuoteResponse, SwapRequest]] = {}
events: dict[str, dict[str, Any]] = {}
"""The newest event of each order. In production both are tables; a quote lives 30 seconds."""
lock = threading.Lock()


def new_quote(asked: dict[str, Any]) -> dict[str, Any]:
    """Return a quote for the wallet that will sign, and whether it must approve first."""
    if not isinstance(asked["sellAmount"], str):
        raise TypeError("an amount is a text: JSON numbers are rounded")
    request = SwapRequest(
        asked["sellToken"], asked["buyToken"], int(asked["sellAmount"]), asked["wallet"]
    )
    with service() as client:
        quote = client.quote(request)
    quote_id = secrets.token_urlsafe(16)
    quotes[quote_id] = quote, request
    params = quote.mev_protection.transaction_params
    return {
        "quoteId": quote_id,
        "buyAmount": str(quote.buy_amount),
        "minBuyAmount": str(quote.min_buy_amount),
        "isVerified": quote.is_verified,
        "needsApproval": quote.issues.allowance is not None,
        "transaction": {
            "to": params.to,
            "data": params.data,
            "value": str(params.value),
            "gasLimit": str(params.gas_limit),
            "maxFeePerGas": str(params.max_fee_per_gas),
            "maxPriorityFeePerGas": str(params.max_priority_fee_per_gas),
            "nonce": params.nonce,
            "chainId": params.chain_id,
            "type": params.type,
        },
    }


def new_order(asked: dict[str, Any]) -> dict[str, Any]:
    """Submit the signed bytes. The same bytes again are the same order."""
    quote, request = quotes[asked["quoteId"]]
    order: SwapOrder | OrderStatusResponse
    with service() as client:
        try:
            order = client.submit_order(quote, request, asked["signedTransaction"]).order
        except SignatureReplay as replay:
            if replay.details is None:
                raise
            order = client.order_status(replay.details.order_id)
    return {"orderId": order.order_id, "txHash": order.tx_hash, "status": order.status}


def take_event(event: dict[str, Any]) -> None:
    """Keep an event if it is newer than what is known; deliveries may come twice."""
    order_id = event.get("order", {}).get("orderId")
    with lock:
        if order_id and event["sequence"] > events.get(order_id, {"sequence": 0})["sequence"]:
            events[order_id] = event
            print(event["type"], order_id, flush=True)  # here: a push message to the wallet app


class Handler(BaseHTTPRequestHandler):
    """Answers with JSON."""

    timeout = 30
    """Of a connection without a byte, in s."""

    def do_GET(self) -> None:
        event = events.get(self.path.removeprefix("/orders/"))
        self.reply(200 if event else 404, event and {"type": event["type"], **event["order"]})

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not (length.isdecimal() and len(length) < 9 and int(length) <= BODY_LIMIT):
            self.close_connection = True
            self.reply(413, {"error": "TOO_LARGE"})
            return
        body = self.rfile.read(int(length))
        try:
            if self.path == "/webhook":
                take_event(webhook.verify(body, dict(self.headers)))
                self.reply(204)
            else:
                act = {"/quotes": new_quote, "/orders": new_order}[self.path]
                self.reply(200, act(json.loads(body)))
        except WebhookVerificationError:
            self.reply(401, {"error": "FORGED"})
        except ApiError as refusal:  # the service's own words; nothing else of it is shown
            self.reply(422, {"error": refusal.error, "message": refusal.message})
        except ClientError as error:  # after a submission: the order may exist, ask again
            self.reply(502, {"error": "NO_ANSWER", "message": type(error).__name__})
        except (KeyError, TypeError, ValueError, RecursionError):
            self.reply(400, {"error": "BAD_REQUEST"})

    def reply(self, status: int, body: Any = None) -> None:
        data = b"" if status == 204 else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        sys.exit(f"port {port}: {error}")
    server.serve_forever()
