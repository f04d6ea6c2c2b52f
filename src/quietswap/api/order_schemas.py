"""What orders and balances look like, every field with its unit."""

from quietswap.api.fields import EXAMPLE_USDC, EXAMPLE_WALLET
from quietswap.api.quote_schemas import OPERATION, TIER
from quietswap.api.schema import (
    Schema,
    address,
    array,
    boolean,
    constant,
    ether,
    integer,
    moment,
    or_null,
    text,
    thing,
    units,
)
from quietswap.domain.order import FailureCode, Status
from quietswap.domain.token import WETH

_HASH = "0x" + "5c" * 32
_ORDER_ID = "ord_01"
_RELAY = text("Display name of the relay", "MEV Blocker")
_STATUS = text("Order status", "submitted", enum=[s.value for s in Status])
_TX_HASH = text("Transaction hash", _HASH, pattern="^0x[0-9a-f]{64}$")
_TRACKING = text("Relay's tracking URL", f"https://relay.example/tx/{_HASH}", format="uri")
_SENT = moment("When the relay took it, else when the service did")

SWAP_ORDER = thing(
    "The order and how to follow it",
    {
        "order": thing(
            "The order",
            {
                "orderId": text("Id for polling", _ORDER_ID),
                "provider": _RELAY,
                "tier": TIER,
                "status": _STATUS,
                "submittedAt": _SENT,
                "expiresAt": moment("When it is given up", "2027-01-15T08:30:00.000Z"),
                "estimatedExecutionTime": text("Estimate for people", "15-45 seconds"),
                "trackingUrl": _TRACKING,
                "providerOrderId": text("Relay's own identifier", _HASH),
                "txHash": _TX_HASH,
            },
        ),
        "tracking": thing(
            "How to follow the order",
            {
                "statusEndpoint": text("Path to poll", f"/api/v1/mev/orders/{_ORDER_ID}"),
                "pollingInterval": integer("Seconds between polls", 10),
            },
        ),
    },
)

_BLOCK_NUMBER = integer("Block number", 23_800_000)
_GAS_USED = units("Gas units used", "180123")
_GAS_PRICE = units("Wei per gas unit actually paid", "1000000000")

ORDER_STATUS = thing(
    "Order status record; what is not known yet, or was never sent, is absent",
    {
        "orderId": text("Order id", _ORDER_ID),
        "status": _STATUS,
        "txHash": _TX_HASH,
        "blockNumber": _BLOCK_NUMBER,
        "gasUsed": _GAS_USED,
        "effectiveGasPrice": _GAS_PRICE,
        "createdAt": moment("When the service accepted it"),
        "submittedAt": _SENT,
        "confirmedAt": moment("Time of its block; present once confirmed"),
        "orderParams": thing(
            "What was ordered",
            {
                "fromToken": address("Sold token", WETH),
                "toToken": address("Bought token", EXAMPLE_USDC),
                "amount": units("Sell amount, smallest units", "1000000000000000000"),
                "minReturnAmount": units("Least output, smallest units", "2985000000"),
            },
        ),
        "error": thing(
            "Why it failed or was cancelled; gas and block only when it reverted on chain",
            {
                "code": text("Reason for programs", enum=[c.value for c in FailureCode]),
                "message": text("Reason for people"),
                "blockNumber": _BLOCK_NUMBER,
                "gasUsed": _GAS_USED,
                "effectiveGasPrice": _GAS_PRICE,
            },
            optional=("blockNumber", "gasUsed", "effectiveGasPrice"),
        ),
    },
    optional=(
        "txHash",
        "submittedAt",
        "blockNumber",
        "gasUsed",
        "effectiveGasPrice",
        "confirmedAt",
        "error",
    ),
)

_ITEM = thing(
    "One order",
    {
        "orderId": text("Order id", _ORDER_ID),
        "status": {**_STATUS, "examples": ["confirmed"]},
        "txHash": or_null(_TX_HASH),
        "blockNumber": or_null(_BLOCK_NUMBER),
        "createdAt": moment("When the service accepted it"),
        "confirmedAt": or_null(moment("Time of its block")),
        "summary": thing(
            "What was swapped",
            {
                "sellToken": address("Sold token", WETH),
                "buyToken": address("Bought token", EXAMPLE_USDC),
                "sellAmount": units("Sell amount, smallest units", "1000000000000000000"),
                "buyAmount": units("Quoted output, smallest units", "3000000000"),
            },
        ),
    },
)

ORDER_HISTORY = thing(
    "One page, newest first; only orders of the calling key",
    {
        "orders": array("Orders", _ITEM),
        "total": integer("Orders that match in all", 1),
        "hasMore": boolean("Whether orders follow", example=False),
        "pagination": thing(
            "This page and the next",
            {
                "limit": integer("Orders a page", 50),
                "offset": integer("Orders skipped", 0),
                "nextOffset": integer("Offset of the next page", 1),
            },
        ),
    },
)

_BALANCE = {
    "wei": units("Balance in wei", "1500000000000000000"),
    "ether": ether("Balance in ether", "1.5"),
}


def _direction(description: str) -> Schema:
    return thing(
        description,
        {
            "description": text("What it does"),
            "maxAmount": ether("The wallet's whole balance in ether", "1.5"),
        },
    )


WRAP_INFO = thing(
    "The wrapped token and a wallet's balances, read at one block",
    {
        "weth": thing(
            "The WETH contract",
            {
                "address": address("Contract", WETH),
                "name": text("Token name", "Wrapped Ether"),
                "symbol": text("Token symbol", "WETH"),
                "decimals": constant(18, "Decimals"),
                "chainId": constant(1, "Ethereum mainnet"),
            },
        ),
        "balances": thing(
            "Balances", {"eth": thing("ETH", _BALANCE), "weth": thing("WETH", _BALANCE)}
        ),
        "operations": thing(
            "What can be done, one to one",
            {"wrap": _direction("ETH to WETH"), "unwrap": _direction("WETH to ETH")},
        ),
    },
)

WRAP_ORDER = thing(
    "The wrap that was taken; it is followed by its transaction hash",
    {
        "order": thing(
            "The order",
            {
                "operation": OPERATION,
                "txHash": _TX_HASH,
                "from": address("Sender", EXAMPLE_WALLET),
                "amount": ether("Amount in ETH", "1.5"),
                "status": _STATUS,
                "provider": _RELAY,
                "trackingUrl": _TRACKING,
                "explorerUrl": text(
                    "Block explorer's URL of the transaction",
                    f"https://etherscan.io/tx/{_HASH}",
                    format="uri",
                ),
                "submittedAt": _SENT,
            },
        )
    },
)
