"""Allowing a router to move the sell token: an ordinary, public transaction of the wallet."""

from dataclasses import dataclass

from quietswap.client import chain
from quietswap.client.errors import ClientError, NodeRefused, WrongChain
from quietswap.client.flow import Flow, ask
from quietswap.client.polling import Polling, mined
from quietswap.client.safety import Approval
from quietswap.client.signing import Signer, hash_of, sign
from quietswap.domain.transaction import MAINNET

_SENDINGS = 3
_HELD = ("already known", "already imported", "nonce too low")
"""Said of bytes that came the first time, though its answer did not; the receipt decides."""


@dataclass(frozen=True, slots=True)
class Approved:
    """One approval that was mined; `amount` in smallest units (0 for a reset)."""

    token: str
    router: str
    amount: int
    receipt: chain.Receipt


def ensure_allowance(
    *,
    token: str,
    router: str,
    amount: int,
    wallet: str,
    signer: Signer,
    approval: Approval,
    polling: Polling,
) -> Flow[tuple[Approved, ...]]:
    """Approve `router` when its allowance is below `amount`; return what was sent, or nothing.

    Some tokens (USDT) refuse to change an allowance that is not zero: where the node says that the
    approval would revert and something is still allowed, it is first set to zero. Raises
    NodeRefused when the approval itself cannot work, and what `mined` raises.
    """
    current = yield from ask(chain.allowance(token, wallet, router))
    if current >= amount or approval == "never":
        return ()
    wanted = chain.UINT256_MAX if approval == "max" else amount
    amounts = [wanted]
    if current > 0 and not (yield from _would_pass(token, router, wanted, wallet)):
        amounts = [0, wanted]
    sent = []
    for each in amounts:
        data = chain.approval_data(router, each)
        receipt = yield from send_public(
            "the approval", to=token, data=data, wallet=wallet, signer=signer, polling=polling
        )
        sent.append(Approved(token, router, each, receipt))
    return tuple(sent)


def require_mainnet() -> Flow[None]:
    """Refuse a node of another chain, whose nonces mean nothing here. Raises WrongChain."""
    found = yield from ask(chain.chain_id())
    if found != MAINNET:
        raise WrongChain(found)


def _would_pass(token: str, router: str, amount: int, wallet: str) -> Flow[bool]:
    data = chain.approval_data(router, amount)
    try:
        yield from ask(chain.estimate_gas({"from": wallet, "to": token, "data": data}))
    except NodeRefused:
        return False
    return True


def send_public(
    what: str,
    *,
    to: str,
    data: str,
    wallet: str,
    signer: Signer,
    polling: Polling,
    gas_limit: int | None = None,
) -> Flow[chain.Receipt]:
    """Send an ordinary transaction through the caller's node and wait until it is mined.

    The fee cap is twice the base fee plus the node's tip; the gas limit, where none is given, the
    node's estimate and a quarter. Everyone sees it in the mempool: never for a swap.
    """
    yield from require_mainnet()
    gas = gas_limit
    if gas is None:
        wish = {"from": wallet, "to": to, "data": data}
        gas = (yield from ask(chain.estimate_gas(wish))) * 5 // 4
    nonce = yield from ask(chain.nonce(wallet))
    tip = yield from ask(chain.tip())
    base_fee = yield from ask(chain.base_fee())
    transaction = {
        "to": to,
        "data": data,
        "value": 0,
        "gas": gas,
        "maxFeePerGas": 2 * base_fee + tip,
        "maxPriorityFeePerGas": tip,
        "nonce": nonce,
        "chainId": MAINNET,
        "type": 2,
    }
    signed = sign(transaction, signer, wallet)
    tx_hash = yield from _send(signed, polling)
    return (yield from mined(what, tx_hash, wallet, nonce, polling))


def _send(signed: str, polling: Polling) -> Flow[str]:
    """Send, again where no answer came: the same bytes can only be one transaction."""
    for attempt in range(1, _SENDINGS + 1):
        try:
            yield from ask(chain.send(signed))
        except NodeRefused as refused:
            # what a node says of a repetition: https://github.com/ethereum/go-ethereum core/txpool
            if attempt == 1 or not any(word in str(refused).lower() for word in _HELD):
                raise
        except ClientError as error:
            if not error.is_transient or attempt == _SENDINGS:
                raise
            yield polling.wait(attempt, error)
            continue
        break
    return hash_of(signed)
