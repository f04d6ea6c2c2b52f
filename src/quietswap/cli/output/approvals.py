"""The approvals that were signed on this machine, with what the caller's own node shows of them."""

from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from quietswap.cli.context import CommandContext
from quietswap.cli.output.order_progress import STYLE
from quietswap.cli.output.orders import display_token
from quietswap.cli.output.quote import short
from quietswap.cli.output.text_table import text_table
from quietswap.cli.signed_orders import SignedApprovals
from quietswap.client import ClientError, node_calls
from quietswap.rules.amounts import UINT256_MAX

if TYPE_CHECKING:
    from quietswap.client import QuietswapClient

_MOST = 50


def signed_approvals(
    wallet: str, client: "QuietswapClient", context: CommandContext
) -> list[dict[str, Any]]:
    """Return the newest approvals of a wallet as JSON members, with `state` by the own node."""
    by_hash = {each.tx_hash: each for each in reversed(SignedApprovals().of(wallet))}
    return [
        msgspec.to_builtins(each) | {"state": _state(each.tx_hash, client, context)}
        for each in [*reversed(by_hash.values())][:_MOST]
    ]


def _state(tx_hash: str, client: "QuietswapClient", context: CommandContext) -> str:
    if context.rpc_url is None:
        return "signed"
    try:
        receipt = client.node(node_calls.receipt(tx_hash))
    except ClientError:
        return "signed"
    if receipt is None:
        return "signed"
    return "confirmed" if receipt.succeeded else "failed"


def approvals_table(
    signed: list[dict[str, Any]], client: "QuietswapClient", context: CommandContext
) -> RenderableType:
    """Return one line for each approval."""
    if not signed:
        return Text("No approvals signed on this machine.")
    table = text_table("state", "approval", "router", "nonce", "transaction")
    for each in signed:
        token, amount = display_token(each["token"], client, context), int(each["amount"])
        has_limit = amount <= UINT256_MAX // 2
        text = token.show(amount) if has_limit else f"any amount of {token.symbol}"
        state = Text(each["state"], STYLE.get(each["state"], ""))
        words = (text, short(each["router"]), str(each["nonce"]), short(each["txHash"]))
        table.add_row(state, *map(Text, words))
    by = "signed on this machine; states by your own node, signed if it has no receipt"
    return Group(Text(), table, Text(by, "dim"))
