"""Settings of the RPC URLs of wallets."""

from typing import Annotated

from quietswap.settings.section import Section, says


class WalletRpcConfig(Section, frozen=True):
    """The JSON-RPC endpoint of wallets, see `quietswap rpc create`."""

    public_url: Annotated[
        str | None,
        says(
            "Address of this service for wallets, as https://host. Unset: from server.host, "
            "server.port and TLS."
        ),
    ] = None
    rate_limit: Annotated[
        int,
        says("Calls per RPC URL in one window of server.rate_window_s.", ge=1, le=1_000_000_000),
    ] = 3000
    timeout_s: Annotated[
        float, says("Seconds the reads of one request may take.", gt=0, le=300)
    ] = 10.0
    max_result_bytes: Annotated[
        int, says("Bytes the node may answer to the reads of one request.", ge=1024, le=1 << 28)
    ] = 16 << 20
    logs_blocks: Annotated[int, says("Blocks one eth_getLogs may read.", ge=1, le=1_000_000)] = 1000
    max_fee_gwei: Annotated[
        int, says("Highest maxFeePerGas that a wallet may sign, in gwei.", ge=1, le=1_000_000_000)
    ] = 1000
