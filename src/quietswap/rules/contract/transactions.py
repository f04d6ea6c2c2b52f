"""The transaction to sign, and how the relay protects it."""

from typing import Annotated, Any

import msgspec

from quietswap.rules import wire as base
from quietswap.rules.relays import PROVIDER, EndpointType, ShareMode
from quietswap.rules.tokens.token import WETH
from quietswap.rules.wire import AddressText, AmountText, Count, HexText, WireStruct, doc, ref


class TransactionParams(WireStruct, frozen=True, kw_only=True):
    """The EIP-1559 transaction to sign, unchanged."""

    to: Annotated[AddressText, doc("Contract to call (EIP-55 checksummed)", base.ROUTER)]
    data: Annotated[HexText, doc("Calldata as hex", base.CALLDATA)]
    value: Annotated[AmountText, doc("Wei to send; 0 for swaps and unwraps", "0")]
    gas_limit: Annotated[AmountText, doc("Maximum gas units", "262500")]
    max_fee_per_gas: Annotated[AmountText, doc("Maximum wei per gas unit", "2000000000")]
    max_priority_fee_per_gas: Annotated[
        AmountText, doc("Always 0 wei per gas unit: the relay orders privately", const="0")
    ]
    nonce: Annotated[Count | None, doc("The wallet's next nonce", 7, type="integer")]
    chain_id: Annotated[Count, doc("Ethereum mainnet", const=1)]
    type: Annotated[Count, doc("EIP-1559", const=2)]

    @property
    def max_gas_cost(self) -> int:
        """The most that the gas may cost, in wei."""
        return self.gas_limit * self.max_fee_per_gas


class WrapTransactionParams(TransactionParams, frozen=True, kw_only=True):
    """The EIP-1559 transaction to sign; the client sets `nonce` and changes nothing else."""

    to: Annotated[AddressText, doc("The WETH contract (EIP-55 checksummed)", WETH)]
    data: Annotated[HexText, doc("Calldata as hex", "0xd0e30db0")]
    value: Annotated[AmountText, doc("Wei to send; 0 for unwraps", "1500000000000000000")]
    nonce: Annotated[Count | None, doc("The client sets the wallet's next nonce", type="null")]


class MevRelayMetadata(WireStruct, frozen=True, kw_only=True):
    """Relay settings."""

    endpoint: Annotated[base.UrlText, doc("Relay RPC endpoint URL with query parameters")]
    endpoint_type: Annotated[str, doc("Relay endpoint", enum=EndpointType)]
    share_mode: Annotated[str, doc("Which searchers may see the transaction", enum=ShareMode)]
    revert_protection: Annotated[
        bool, doc("Whether the relay drops the transaction when it would revert")
    ]
    use_boost: Annotated[
        bool, doc("Always false: boost needs a priority fee, which is always 0", const=False)
    ]


class SwapMevRelayMetadata(MevRelayMetadata, frozen=True, kw_only=True):
    """Relay settings of a swap."""

    expected_rebate: Annotated[
        base.Figure | None, doc("Expected rebate in USD", 0.04, type="number")
    ] = None


class ProviderMetadata(WireStruct, frozen=True, kw_only=True):
    """Send this back unchanged with the signed transaction."""

    provider: Annotated[str, doc("The relay", const=PROVIDER)]
    tier: base.Tier
    mev_relay_metadata: Annotated[MevRelayMetadata, doc("Relay settings")]


class SwapProviderMetadata(ProviderMetadata, frozen=True, kw_only=True):
    """Send this back unchanged with the signed transaction."""

    mev_relay_metadata: Annotated[SwapMevRelayMetadata, doc("Relay settings")]


SentMetadata = Annotated[
    dict[str, Any],
    doc(
        "Send this back unchanged with the signed transaction",
        base.WRAP_METADATA,
        **ref("ProviderMetadata"),
    ),
]
"""A dictionary, not a Struct: the client sends back members that it does not know."""


class MevProtection(WireStruct, frozen=True, kw_only=True):
    """How the transaction is protected."""

    provider: base.RelayName
    transaction_params: Annotated[TransactionParams, doc("The transaction to sign")]
    provider_metadata: SentMetadata

    @property
    def metadata(self) -> SwapProviderMetadata:
        """Return the metadata as typed values; a wrap has no expected rebate."""
        return msgspec.convert(
            self.provider_metadata, SwapProviderMetadata, dec_hook=base.from_json
        )


class SwapMevProtection(MevProtection, frozen=True, kw_only=True):
    """How the swap is protected."""

    provider_metadata: Annotated[
        dict[str, Any],
        doc(
            "Send this back unchanged with the signed transaction",
            base.SWAP_METADATA,
            **ref("SwapProviderMetadata"),
        ),
    ]


class WrapMevProtection(MevProtection, frozen=True, kw_only=True):
    """How the wrap or unwrap is protected."""

    transaction_params: Annotated[WrapTransactionParams, doc("The transaction to sign")]
