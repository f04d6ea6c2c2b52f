"""Send the signed bytes of an order to its relays, with the privacy options of its quote.

What replaces a transaction goes to every relay that may have that one. Two writers could miss
each other: one gives an order to a second relay while the other accepts its cancel. So each of
them first stores what it is about to do, and then reads what the other has stored.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from quietswap.rules.orders.order import Order, OrderKind
from quietswap.rules.relays import BACKUP_TIER, FIRST_TIER, EndpointType, ShareMode
from quietswap.service.relays.answers import RelayOutcome, RelayResponse, joint_answer, words_of
from quietswap.service.relays.relay import Relay

_UNUSED = RelayResponse(RelayOutcome.NOT_SENT, "this service no longer uses this relay")
_NO_PROMISE = RelayResponse(
    RelayOutcome.NOT_TAKEN, "not sent to it, because it does not drop what would revert"
)


async def send(
    relays: Mapping[int, Relay], order: Order, raw: bytes, *, replaces: bool
) -> RelayResponse:
    """Send the order's bytes to its relays, to the endpoint it was issued for.

    The endpoint comes from our own table. `replaces`: another transaction has its nonce, so each
    relay must take it.
    """
    kind, share = EndpointType(order.endpoint_type), ShareMode(order.share_mode)

    async def one(tier: int) -> tuple[str, RelayResponse]:
        relay = relays.get(tier)
        if relay is None:
            return f"tier {tier}", _UNUSED
        if not keeps_promise(order, tier, relays):
            return relay.name, _NO_PROMISE
        return relay.name, await relay.submit(raw, kind, share)

    answers = await asyncio.gather(*map(one, order.tiers))
    return joint_answer(answers, all_must_take=replaces)


def keeps_promise(order: Order, tier: int, relays: Mapping[int, Relay]) -> bool:
    """Return whether a relay promises as much as the order's own: it drops what would revert."""
    if tier == order.tier or order.kind is OrderKind.CANCEL:
        return True
    kind, own = EndpointType(order.endpoint_type), relays.get(order.tier)
    return relays[tier].drops_reverts(kind) or not (own is None or own.drops_reverts(kind))


async def forget(relays: Mapping[int, Relay], cancel: Order, rivals: Sequence[Order]) -> None:
    """Ask every relay of a cancel to drop what it cancels: best effort, and it proves nothing."""
    order_relays = [relays[tier] for tier in cancel.tiers if tier in relays]
    hashes = [one.tx_hash for one in rivals if one.kind is not OrderKind.CANCEL]
    await asyncio.gather(*(relay.cancel(tx_hash) for relay in order_relays for tx_hash in hashes))


def passed_on(
    order: Order, answer: RelayResponse, relays: Mapping[int, Relay], *, stays: bool
) -> Order | None:
    """Return the order for the backup, if the first relay did not take it; else None.

    The bytes are the same, so at most one is mined. The backup must promise as much: an order that
    is dropped if it would revert stays with a relay that drops it. With `stays` the first relay
    gets it as before: it may have these bytes already, or another transaction with their nonce.
    """
    backup = relays.get(BACKUP_TIER)
    if answer.outcome is not RelayOutcome.NOT_TAKEN or order.tiers != (FIRST_TIER,):
        return None
    if backup is None or not backup.is_up or not keeps_promise(order, BACKUP_TIER, relays):
        return None
    second = FIRST_TIER if stays else None
    return replace(order, tier=BACKUP_TIER, second_tier=second, relay_answer=words_of(answer))


_STAYS = "the backup does not get it: it does not promise to drop it if it would revert"


def with_reason_to_stay(
    order: Order, answer: RelayResponse, relays: Mapping[int, Relay]
) -> RelayResponse:
    """Return the answer of a relay that took nothing, with why the backup does not get the order
    if that is a promise of its quote.
    """
    is_alone = order.tiers == (FIRST_TIER,) and BACKUP_TIER in relays
    if answer.outcome is not RelayOutcome.NOT_TAKEN or not is_alone:
        return answer
    if keeps_promise(order, BACKUP_TIER, relays):
        return answer
    return replace(answer, said=f"{words_of(answer)}; {_STAYS}")


PASSED_ON = "the relay takes no transactions at the moment: the backup gets it"


def other_relay(order: Order, rivals: Sequence[Order]) -> int | None:
    """Return the relay without this order that may have another transaction with its nonce."""
    theirs = {tier for one in rivals for tier in one.tiers}
    return next(iter(theirs - {*order.tiers}), None)


ALSO_SENT = "the other relay may have a transaction with its nonce: it gets this one, too"
