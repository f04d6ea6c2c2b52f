"""Print the events of an order until it ends: python examples/follow_events.py ord_0123...

Uses the standard library only. A connection that ends is opened again with the number of the last
event, so nothing is missed and nothing comes twice. An end can be taken back by a reorganisation
until `order.finalized`: money that must not move twice waits for that.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

if missing := [name for name in ("QUIETSWAP_URL", "QUIETSWAP_API_KEY") if not os.environ.get(name)]:
    sys.exit(f"set {', '.join(missing)}: see examples/README.md")
URL, KEY = os.environ["QUIETSWAP_URL"].rstrip("/"), os.environ["QUIETSWAP_API_KEY"]
if not URL.startswith(("http://", "https://")):
    sys.exit("QUIETSWAP_URL must be an http:// or https:// address")
ENDS = ("order.confirmed", "order.failed", "order.cancelled")
QUIET_S = 30
"""The service sends at least a comment every ten seconds."""


def events(order_id: str) -> Iterator[dict[str, Any] | None]:
    """Yield the events of an order, from its first one, without end; None for a new place only."""
    place = 0
    while True:
        try:
            for found, event in connection(order_id, place):
                place = found
                yield event
        except HTTPError as refusal:
            place = after_refusal(refusal, place)
        except (OSError, HTTPException) as error:  # a restart, or the network
            print(f"no connection ({error}): again in 2 s", file=sys.stderr)
        time.sleep(2)


def connection(order_id: str, place: int) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield each new place of one connection, with the event that it has."""
    headers = {"X-API-Key": KEY, "Last-Event-ID": str(place)}
    url = f"{URL}/api/v1/mev/events?orderId={order_id}"
    with urlopen(Request(url, headers=headers), timeout=QUIET_S) as answer:  # noqa: S310
        for line in answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                place = int(value)
                yield place, None
            elif name == "data":
                yield place, json.loads(value)


def after_refusal(refusal: HTTPError, place: int) -> int:
    """Return where to begin again; end the program if that is of no use."""
    if refusal.code == 410:  # pruned: begin with the oldest event that is there
        oldest: int = json.load(refusal)["details"]["oldest"]
        return oldest - 1
    if refusal.code < 500 and refusal.code != 429:
        sys.exit(refusal.read().decode())
    print(f"{refusal}: again in 2 s", file=sys.stderr)
    return place


def require_order(order_id: str) -> None:
    """End the program if this key has no such order: no event of it would ever come."""
    status = Request(f"{URL}/api/v1/mev/orders/{order_id}", headers={"X-API-Key": KEY})  # noqa: S310
    try:
        urlopen(status, timeout=QUIET_S).close()  # noqa: S310
    except HTTPError as refusal:
        after_refusal(refusal, 0)
    except (OSError, HTTPException) as error:
        print(f"no connection ({error})", file=sys.stderr)


def main() -> None:
    """Print each event; end with 0 when the order is confirmed, else with 1."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} ORDER_ID")
    require_order(sys.argv[1])
    for event in filter(None, events(sys.argv[1])):
        finality = event["finality"]
        print(event["sequence"], event["type"], f"{finality['depth']} deep", flush=True)
        if event["type"] in ENDS:
            sys.exit(0 if event["type"] == "order.confirmed" else 1)


if __name__ == "__main__":
    main()
