"""Compare the accounting export with the chain: python examples/reconcile.py [orders.csv]

Without a file it downloads the export of the wallet by the API. For each mined order it asks your
own node for the receipt, and compares block, fee and received amount. It prints one line per order
and totals. Exit code 1: something differs, or there is nothing to compare.
"""

import csv
import os
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from python_flow import KEY, URL, refusal_of, rpc, wallet

DECIMALS = "0x313ce567"
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""Topic of Transfer(address,address,uint256)."""
ETH = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"
FROM = os.environ.get("EXPORT_FROM", "2026-01-01")
COLUMNS = {
    "orderId", "kind", "status", "wallet", "txHash", "blockHash", "sellToken", "sellSymbol",
    "sellAmount", "sellAmountWhole", "buyToken", "buySymbol", "receivedAmount", "receivedWhole",
    "feePaidWei", "feePaidEth",
}  # fmt: skip
"""What is read of the export."""


def rows() -> list[dict[str, str]]:
    """Return the lines of the file, or of the wallet's export."""
    text = content(sys.argv[1]) if len(sys.argv) > 1 else export()
    table = csv.DictReader(text.splitlines())
    if lacking := COLUMNS.difference(table.fieldnames or ()):
        sys.exit(f"this is no export of orders: it has no column {min(lacking)}")
    return list(table)


def content(file: str) -> str:
    """Return the text of a file."""
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{file} cannot be read: {error}")


def export() -> str:
    """Download the wallet's orders as CSV."""
    path = f"/api/v1/mev/orders/user/{wallet}/export?format=csv&from={quote(FROM)}"
    try:
        with urlopen(Request(URL + path, headers=KEY), timeout=300) as answer:  # noqa: S310
            text: str = answer.read().decode()
            return text
    except HTTPError as refusal:
        body = refusal_of(refusal)
        sys.exit(f"{body['error']}: {body['message']}")
    except OSError as error:
        sys.exit(f"no answer: {error}")


def whole(amount: int, token: str) -> Decimal:
    """Return smallest units as whole tokens, exactly: the contract says how many decimals."""
    decimals = 18
    if token != ETH:
        decimals = int(rpc("eth_call", {"to": token, "data": DECIMALS}, "latest"), 16)
    return Decimal(amount).scaleb(-decimals)


def received(receipt: Any, token: str, owner: str) -> int:
    """Return the token's transfers to the owner minus those from it, in smallest units."""
    total, key = 0, f"0x{owner[2:].lower():0>64}"
    for log in receipt["logs"]:
        if log["address"].lower() == token.lower() and log["topics"][0] == TRANSFER:
            _, sender, target = log["topics"]
            total += int(log["data"], 16) * ((target == key) - (sender == key))
    return total


def differences(row: dict[str, str]) -> list[str]:
    """Return each column of a mined order that the receipt at your own node contradicts."""
    receipt = rpc("eth_getTransactionReceipt", row["txHash"])
    if receipt is None:
        return ["your node has no receipt"]
    fee = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    told: dict[str, Any] = {"feePaidWei": Decimal(fee), "feePaidEth": whole(fee, ETH)}
    if row["kind"] == "swap" and row["receivedAmount"]:  # a wrap logs no transfer
        amount = received(receipt, row["buyToken"], row["wallet"])
        told["receivedAmount"] = Decimal(amount)
        told["receivedWhole"] = whole(amount, row["buyToken"])
    found = [
        f"{name} is {row[name]}, by the receipt {value}"
        for name, value in told.items()
        if row[name] and Decimal(row[name]) != value
    ]
    if receipt["blockHash"] != row["blockHash"]:
        found.append(f"blockHash is {row['blockHash']}, by the receipt {receipt['blockHash']}")
    return found


def main() -> int:
    """Print and compare; 1 if anything differs."""
    totals: Counter[str] = Counter()
    wrong = 0
    for row in rows():
        found = differences(row) if row["blockHash"] else []
        wrong += bool(found)
        money = f"{row['sellAmountWhole']} {row['sellSymbol']}"
        money += f" -> {row['receivedWhole'] or '-'} {row['buySymbol']}"
        print(
            row["orderId"], row["kind"], row["status"], money, f"fee {row['feePaidWei'] or 0} wei"
        )
        print(*(f"  DIFFERS: {one}" for one in found), sep="\n", end="\n" if found else "")
        totals["fees in wei"] += int(row["feePaidWei"] or 0)
        if row["status"] == "confirmed" and row["kind"] == "swap":
            totals[f"sold {row['sellToken']}"] += int(row["sellAmount"])
            totals[f"received {row['buyToken']}"] += int(row["receivedAmount"] or 0)
    for name, amount in totals.items():  # integers: no rounding
        print("total", name, amount)
    print("orders that differ:", wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
