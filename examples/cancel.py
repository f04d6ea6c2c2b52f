"""Cancel an open order by its id and its nonce: python examples/cancel.py ord_0123... 7

Signs an empty transfer of the wallet to itself with the order's nonce: at most one of the two
transactions can be mined. The nonce is the one that was signed for the order: the service could
name that of another transaction of the wallet. Ends with 0 when the order is cancelled, with 1 when
the swap was faster.
"""

import sys
from typing import Any

from python_flow import ask, check, followed, hash_of, mined, signed, wallet


def check_cancel(params: dict[str, Any], nonce: int) -> None:
    """Sign nothing but an empty transfer to ourselves, with the order's nonce."""
    check(params, wallet, 0)
    if params["data"] not in ("", "0x") or params["nonce"] != nonce:
        sys.exit(f"this is no cancel of nonce {nonce}: {params}")


def main(order_id: str, nonce: int) -> None:
    """Cancel, and say how the race ended."""
    path = f"/mev/orders/{order_id}/cancel"
    quote = ask(path, {})
    params = quote["transactionParams"]
    check_cancel(params, nonce)
    raw = signed(params)
    ask(path, {"signedTransaction": raw, "providerMetadata": quote["providerMetadata"]})
    print("submitted", hash_of(raw), flush=True)
    record = followed(order_id)
    print("order", record["status"], record["txHash"])
    if record["status"] != "cancelled":
        sys.exit(1)
    mined(hash_of(raw))


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[2].isdecimal():
        sys.exit(f"usage: {sys.argv[0]} ORDER_ID NONCE")
    main(sys.argv[1], int(sys.argv[2]))
