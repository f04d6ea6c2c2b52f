"""Checks before signing that spare a refusal after it: the key, the wallet's ETH, and a trial."""

import re

from quietswap.client import api_calls, node_calls
from quietswap.client.errors.base import NodeRpcError
from quietswap.client.errors.client_limits import Forbidden
from quietswap.client.errors.flow import QuoteDeclined
from quietswap.client.flows.effects import Flow, perform
from quietswap.client.flows.polling import PollingPolicy, retry_transient
from quietswap.contract.errors import ERRORS, ErrorEnvelope
from quietswap.contract.transactions import TransactionParams
from quietswap.domain import errors
from quietswap.domain.client_limits import KeyScope

_REVERTED = 3
_FAILS = re.compile(r"revert|gas required exceeds|out of gas", re.IGNORECASE)


def require_trade_scope(polling: PollingPolicy) -> Flow[None]:
    """Refuse an API key that can request quotes but submit no order. Raises Forbidden.

    The service would refuse the signed swap, after an approval was paid for.
    """
    found = yield from retry_transient(api_calls.usage(), polling)
    if found.scope != KeyScope.TRADE.value:
        told = errors.Forbidden(scope=found.scope, required=KeyScope.TRADE.value)
        body = ErrorEnvelope(
            error=told.code, message=told.message, details=told.details, suggestion=told.suggestion
        )
        raise Forbidden(body, ERRORS[told.code].status)


def require_eth(params: TransactionParams, wallet: str) -> Flow[None]:
    """Refuse a transaction that may cost more ETH than the wallet holds. Raises QuoteDeclined.

    The highest cost is value + gas limit x fee cap, in wei; a node asks for the same (EIP-1559).
    """
    cost = params.value + params.max_gas_cost
    held = yield from perform(node_calls.eth_balance(wallet))
    if held < cost:
        raise QuoteDeclined(
            f"the wallet holds {held} wei of ETH, and the transaction may cost {cost} wei"
        )


def require_success(what: str, params: TransactionParams, wallet: str) -> Flow[None]:
    """Refuse a transaction that fails at the caller's own node, or needs more gas than its limit.

    The wallet's own code (EIP-7702) may revert, or use gas. Raises QuoteDeclined.
    """
    call = {"from": wallet, "to": params.to, "data": params.data, "value": hex(params.value)}
    try:
        gas = yield from perform(node_calls.estimate_gas(call))
    except NodeRpcError as error:
        if error.code != _REVERTED and not _FAILS.search(str(error)):
            raise
        raise QuoteDeclined(f"by your own node {what} would fail ({error}): not signed") from error
    if gas > params.gas_limit:
        raise QuoteDeclined(
            f"by your own node {what} needs {gas} gas, and its limit is {params.gas_limit}: not"
            " signed"
        )
