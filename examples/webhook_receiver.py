"""Receive the events of your orders: verify the signature, skip repeated events, answer at once.

It needs the package `standardwebhooks`, and WEBHOOK_SECRET: the `secret` of the new webhook. It
listens without TLS on loopback. In production a proxy with a certificate stands in front of it.
"""

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError
from standardwebhooks.webhooks import EmptyWebhookSecretError

if not os.environ.get("WEBHOOK_SECRET"):
    sys.exit("set WEBHOOK_SECRET: the `secret` of the webhook, which is shown when it is created")
try:
    webhook = Webhook(os.environ["WEBHOOK_SECRET"])
    port = int(os.environ.get("WEBHOOK_PORT", "9000"))
except (ValueError, EmptyWebhookSecretError) as error:
    sys.exit(f"WEBHOOK_SECRET or WEBHOOK_PORT is wrong: {error}")
known: set[str] = set()  # in production: a table with a unique column
lock = threading.Lock()


def handle(event: dict[str, Any]) -> None:
    order = event.get("order", {})  # a test event has no order
    print(event["type"], order.get("orderId", ""), order.get("status", ""), flush=True)


class Receiver(BaseHTTPRequestHandler):
    timeout = 30  # seconds of a connection without a byte

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isdecimal() and len(length) < 7):
            self.close_connection = True
            self.reply(413)  # no event is a megabyte
            return
        body = self.rfile.read(int(length))
        try:
            event = webhook.verify(body, dict(self.headers))
        except WebhookVerificationError:
            self.reply(401)  # forged, or older than five minutes
            return
        with lock:
            if event["id"] not in known:  # an event may arrive more than once, with the same id
                handle(event)
                known.add(event["id"])
        self.reply(204)

    def reply(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    except (OSError, OverflowError) as error:
        sys.exit(f"port {port}: {error}")
    server.serve_forever()
