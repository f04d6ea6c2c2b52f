"""What a mined order brought: the parts of a status record that come from its receipt."""

from typing import Annotated, Literal

from quietswap.contract import examples
from quietswap.contract.base import AddressText, AmountText, WireStruct, doc
from quietswap.domain.order.received import ReceivedIssue, RefundStatus

Bps = Annotated[int, doc("Basis points, rounded down; negative means less", -3)]
FeePaid = Annotated[
    AmountText, doc("Network fee paid in wei: gasUsed times effectiveGasPrice", "180123000000000")
]


class Received(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What the wallet received. Either `amount` or `reason` is present."""

    token: Annotated[AddressText, doc("Bought token (EIP-55 checksummed)", examples.USDC)]
    amount: Annotated[
        AmountText | None,
        doc(
            "Smallest units: Transfer logs of the token to the wallet minus those from it, in the"
            " receipt of the canonical block. 0 after a revert",
            "2998000000",
        ),
    ] = None
    reason: Annotated[
        str | None,
        doc("Why the amount is unknown", enum=[issue.value for issue in ReceivedIssue]),
    ] = None


class Delivered(WireStruct, frozen=True, kw_only=True):
    """The received amount compared with the quote."""

    to_promise_bps: Annotated[Bps, doc("Received against the quoted output, basis points", -3)]
    to_minimum_bps: Annotated[Bps, doc("Received against the minimum output, basis points", 47)]


class Refund(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A refund by the relay for the backrun of the order."""

    status: Annotated[
        Literal["none", "reported", "paid"],
        doc(
            "reported: the relay reports it, nothing proves it. paid: a transaction in the block of"
            " the order paid it to the wallet",
            "none",
            type="string",
            enum=[status.value for status in RefundStatus],
        ),
    ]
    amount_wei: Annotated[AmountText, doc("Wei; 0 for none", "0")]
    tx_hash: Annotated[
        str | None, doc("The transaction that paid it; absent unless paid", examples.TX_HASH)
    ] = None
