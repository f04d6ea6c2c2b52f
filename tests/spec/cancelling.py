"""What a client does to cancel, on the whole running service."""

from dataclasses import dataclass
from typing import Any

import httpx
from eth_account.signers.local import LocalAccount

from tests.spec.api_client import ApiClient
from tests.spec.wire import data, sign


@dataclass
class SignedCancel:
    """The answer to an empty body, and what a wallet made of it."""

    issued: dict[str, Any]
    raw: str

    @property
    def body(self) -> dict[str, Any]:
        """Return what is posted."""
        metadata = self.issued["providerMetadata"]
        return {"signedTransaction": self.raw, "providerMetadata": metadata}


def path(order_id: str) -> str:
    """Return the path of an order's cancel."""
    return f"/api/v1/mev/orders/{order_id}/cancel"


def ask(desk: ApiClient, order_id: str) -> httpx.Response:
    """Ask what to sign, with no body at all."""
    return desk.api.post(path(order_id))


def signed(desk: ApiClient, wallet: LocalAccount, order_id: str, **changes: Any) -> SignedCancel:
    """Ask and sign."""
    issued = data(ask(desk, order_id))
    return SignedCancel(issued, sign(wallet, issued["transactionParams"], **changes))


def send(desk: ApiClient, order_id: str, cancel: SignedCancel, **changes: Any) -> httpx.Response:
    """Submit a signed cancel."""
    return desk.api.post(path(order_id), json=cancel.body | changes)


def cancel(desk: ApiClient, wallet: LocalAccount, order_id: str) -> dict[str, Any]:
    """Return `data` of a cancel that was taken."""
    return data(send(desk, order_id, signed(desk, wallet, order_id)))
