"""An event stream that never says anything, and a Ctrl-C that is typed while it is awaited."""

import os
import signal
import threading
from socket import socket

import pytest

from quietswap.client.flows import polling
from quietswap.rules.orders.order import OrderStatus
from tests.client.fake_servers import FakeService, Reply, ok, placed
from tests.response_json import orders
from tests.stored_orders import recorded
from tests.waiting import WITHIN_S

TYPE = {"Content-Type": "text/event-stream; charset=utf-8"}


class Silence:
    """The side of the service: it interrupts this process, and says nothing until it is left.

    It lasts WITHIN_S, and the reader would wait much longer.
    """

    def __init__(self, service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = threading.Event()
        self._gave_up = False
        monkeypatch.setattr(polling, "_STREAM_WAIT_S", 100 * WITHIN_S)
        open_order = ok(orders.order_status_response(recorded(placed(OrderStatus.MINING))))
        service.next("status", *[open_order] * 10)
        opening, beat = Reply(b"id: 5\n\n", headers=TYPE), b": beat\n\n"
        service.next("events", opening, Reply(beat, headers=TYPE, then=self._interrupt))

    def _interrupt(self, _: socket) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        self._gave_up = not self._left.wait(WITHIN_S)

    def was_left(self) -> bool:
        """Return whether the stream is still open and silent, and end it."""
        self._left.set()
        return not self._gave_up
