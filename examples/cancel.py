"""Cancel the open order whose id is given: python examples/cancel.py ord_0123...

Signs an empty transfer of the wallet to itself with the order's nonce: at most one of the two
transactions can be mined. Ends with 0 when the order is cancelled, with 1 when the swap was faster.
"""

import sys
from typing import Any

from python_flow import ask, followed, signed, wallet

MOST_FEE_WEI = 2 * 10**16


def check(params: dict[str, Any]) -> None:
    """Sign nothing but an empty transfer to ourselves that cannot cost more than we allow."""
    is_empty = params["value"] == "0" and params["data"] in ("", "0x")
    fee = int(params["gasLimit"]) * int(params["maxFeePerGas"])
    if params["to"].lower() != wallet.lower() or not is_empty or fee > MOST_FEE_WEI:
        sys.exit(f"this is no cancel: {params}")


def main(order_id: str) -> None:
    """Cancel, and say how the race ended."""
    path = f"/mev/orders/{order_id}/cancel"
    quote = ask(path, {})
    params = quote["transactionParams"]
    check(params)
    body = {"signedTransaction": signed(params), "providerMetadata": quote["providerMetadata"]}
    taken = ask(path, body)
    print("submitted", taken["cancel"]["txHash"])
    record = followed(order_id)
    print("order", record["status"], record["txHash"])
    if record["status"] != "cancelled":
        sys.exit(1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} ORDER_ID")
    main(sys.argv[1])
