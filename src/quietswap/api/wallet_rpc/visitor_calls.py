"""What an anonymous visitor of the web page may let the node execute.

Anybody can have an RPC URL of the page, so its calls are worth less of the node's time than those
of a client: they execute code that is on the chain, with less gas. Lists say what is allowed: nodes
read more than this service knows, and geth reads names in any case.
"""

from typing import Any

from quietswap.api.wallet_rpc.errors import bad_parameters
from quietswap.api.wallet_rpc.parameters import CALL_MEMBERS
from quietswap.api.wallet_rpc.wire import Call

MOST_CALL_GAS = 10_000_000
MOST_ESTIMATE_GAS = 1 << 24
"""No transaction can have more: https://eips.ethereum.org/EIPS/eip-7825"""
_MEMBERS = (*CALL_MEMBERS, "type", "chainId")
_OVERRIDES = ("balance", "nonce", "state", "stateDiff")
_ELSEWHERE = "on an RPC URL of the web page; URLs made with an API key allow it"


def bound_visitor(call: Call) -> None:
    """Set the gas of a call that names none, and lower that of an estimate.

    The parameters were checked before. Raises RpcError for more gas than a visitor has, and for
    code that is not on the chain.
    """
    if call.method not in ("eth_call", "eth_estimateGas"):
        return
    asked: dict[str, Any] = call.params[0]
    if not set(asked) <= set(_MEMBERS):
        raise bad_parameters(f"call has only {', '.join(_MEMBERS)} {_ELSEWHERE}")
    if asked.get("to") is None:
        raise bad_parameters(f"call.to is missing: no contract is created {_ELSEWHERE}")
    given = None if asked.get("gas") is None else int(asked["gas"], 16)
    if call.method == "eth_estimateGas":
        asked["gas"] = hex(min(given or MOST_ESTIMATE_GAS, MOST_ESTIMATE_GAS))
    elif given is None:
        asked["gas"] = hex(MOST_CALL_GAS)
    elif given > MOST_CALL_GAS:
        raise bad_parameters(f"call.gas is at most {MOST_CALL_GAS} {_ELSEWHERE}")
    overrides = call.params[2] if len(call.params) > 2 else None
    for account in (overrides or {}).values():
        if not set(account) <= set(_OVERRIDES):
            raise bad_parameters(f"overrides change only {', '.join(_OVERRIDES)} {_ELSEWHERE}")
