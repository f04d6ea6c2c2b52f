"""The answers of the wrap endpoints."""

from typing import Annotated

import msgspec

from quietswap.rules import wire as base
from quietswap.rules.contract.orders import SubmittedAtOrNull, TrackingUrl
from quietswap.rules.contract.quotes import LossJudgement
from quietswap.rules.contract.transactions import WrapMevProtection
from quietswap.rules.tokens.token import WETH
from quietswap.rules.wire import AmountText, Count, Envelope, EtherText, UrlText, WireStruct, doc


class WrapQuoteResponse(WireStruct, frozen=True, kw_only=True):
    """Quote of a wrap or unwrap, valid for 5 minutes."""

    quote_id: Annotated[
        str,
        doc(
            "Id, weth_<operation>_<epoch_ms>_<suffix>",
            base.WRAP_QUOTE_ID,
            pattern="^weth_(wrap|unwrap)_[0-9]+_[0-9a-zA-Z]+$",
        ),
    ]
    operation: base.WrapOperation
    amount: Annotated[EtherText, doc("Amount in ETH", "1.5")]
    amount_wei: Annotated[AmountText, doc("Amount in wei", "1500000000000000000")]
    input_token: Annotated[str, doc("ETH, or the WETH address", "ETH")]
    output_token: Annotated[str, doc("The WETH address, or ETH", WETH)]
    mev_protection: Annotated[WrapMevProtection, doc("How the wrap or unwrap is protected")]
    deadline: Annotated[Count, doc("Expiry in Unix seconds", 1_800_000_300)]
    estimated_gas: Annotated[AmountText, doc("Estimated gas units", "45041")]
    created_at: Annotated[base.Timestamp, doc("Time of issue (ISO 8601, UTC)", base.TIME)]
    valid_until: Annotated[
        base.Timestamp, doc("Expiry (ISO 8601, UTC)", "2027-01-15T08:05:00.000Z")
    ]
    loss: Annotated[
        LossJudgement | None,
        doc("Its gas, where that is more than a tenth of the amount", **base.ref("LossJudgement")),
    ] = None

    notes: Annotated[tuple[Annotated[str, doc("Note")], ...], doc("Notes for people")] = ()

    def with_nonce(self, nonce: int) -> "WrapQuoteResponse":
        """Return the quote with the nonce that it leaves to the client."""
        params = msgspec.structs.replace(self.mev_protection.transaction_params, nonce=nonce)
        protection = msgspec.structs.replace(self.mev_protection, transaction_params=params)
        return msgspec.structs.replace(self, mev_protection=protection)


class WrapQuoteData(WireStruct, frozen=True, kw_only=True):
    """Quote of a wrap or unwrap."""

    quote: Annotated[WrapQuoteResponse, doc("The quote")]


class WrapOrderResponse(WireStruct, frozen=True, kw_only=True):
    """A submitted wrap or unwrap; its transaction hash identifies it."""

    operation: base.WrapOperation
    tx_hash: base.HashText
    sender: Annotated[base.AddressText, doc("Sender (EIP-55 checksummed)", base.WALLET)] = (
        msgspec.field(name="from")
    )
    amount: Annotated[EtherText, doc("Amount in ETH", "1.5")]
    status: base.OrderState
    provider: base.RelayName
    tracking_url: TrackingUrl
    explorer_url: Annotated[
        UrlText,
        doc("Block explorer URL of the transaction", f"https://etherscan.io/tx/{base.TX_HASH}"),
    ]
    submitted_at: SubmittedAtOrNull


class WrapOrderData(WireStruct, frozen=True, kw_only=True):
    """The submitted wrap or unwrap."""

    order: Annotated[WrapOrderResponse, doc("The order")]


class WethToken(WireStruct, frozen=True, kw_only=True):
    """The WETH contract."""

    address: Annotated[base.AddressText, doc("Contract (EIP-55 checksummed)", WETH)]
    name: Annotated[str, doc("Token name", "Wrapped Ether")]
    symbol: Annotated[str, doc("Token symbol", "WETH")]
    decimals: Annotated[Count, doc("Decimals", const=18)]
    chain_id: Annotated[Count, doc("Ethereum mainnet", const=1)]


class Balance(WireStruct, frozen=True, kw_only=True):
    """One balance."""

    wei: Annotated[AmountText, doc("Balance in wei", "1500000000000000000")]
    ether: Annotated[EtherText, doc("Balance in ether", "1.5")]


class Balances(WireStruct, frozen=True, kw_only=True):
    """Balances of the wallet at one block."""

    eth: Annotated[Balance, doc("ETH")]
    weth: Annotated[Balance, doc("WETH")]


class OperationInfo(WireStruct, frozen=True, kw_only=True):
    """One direction of the conversion."""

    description: Annotated[str, doc("Description for people", "Unwrap WETH into ETH, one to one.")]
    max_amount: Annotated[EtherText, doc("The wallet's whole balance in ether", "1.5")]


class Operations(WireStruct, frozen=True, kw_only=True):
    """Both directions of the conversion, one to one."""

    wrap: Annotated[OperationInfo, doc("ETH to WETH")]
    unwrap: Annotated[OperationInfo, doc("WETH to ETH")]


class WrapInfoResponse(WireStruct, frozen=True, kw_only=True):
    """The WETH contract and the balances of a wallet, read at one block."""

    weth: Annotated[WethToken, doc("The WETH contract")]
    balances: Annotated[Balances, doc("Balances of the wallet")]
    operations: Annotated[Operations, doc("Both directions of the conversion, one to one")]


class WrapQuoteEnvelope(Envelope[WrapQuoteData], frozen=True, kw_only=True):
    """The answer of POST /api/v1/mev/wrap/quote."""


class WrapOrderEnvelope(Envelope[WrapOrderData], frozen=True, kw_only=True):
    """The answer of POST /api/v1/mev/wrap/order."""


class WrapInfoEnvelope(Envelope[WrapInfoResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/wrap/info."""
