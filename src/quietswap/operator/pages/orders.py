"""Orders: a search over all clients, and one order with its events on a time line."""

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from quietswap.amounts import difference_bps, format_ether, format_units
from quietswap.chain.address import Address
from quietswap.operator.operators import FoundOrders, OrderDetail, OrderPlace
from quietswap.operator.page import (
    PATH,
    Child,
    Markup,
    OperatorOptions,
    Page,
    cents,
    code,
    element,
    facts,
    joined,
    link,
    moment,
    state,
    table,
)
from quietswap.orders.order import Order, OrderEvent
from quietswap.orders.received import Refund
from quietswap.quoting.quote import NATIVE
from quietswap.tokens.token_list import TokenCatalogue

_SHORT = 10


def search_form(text: str) -> Markup:
    """Return the search field."""
    field = element("input", type="search", name="q", value=text, autocomplete="off")
    return element(
        "form",
        element("label", "Order id, transaction hash, wallet, API key or client", field),
        element("button", "Search"),
        class_="search",
        action=f"{PATH}/orders",
    )


def place_of(text: str) -> OrderPlace | None:
    """Return the place that a link to the next page names; None for anything else."""
    created, _, order_id = text.partition(".")
    if not (created.isascii() and created.isdecimal() and len(created) <= 15 and order_id):
        return None
    return OrderPlace(int(created), order_id[:100])


def orders_page(text: str, found: FoundOrders) -> Page:
    """Return the orders that were found."""
    if not found.what or (text and not found.orders):
        known = f"There is no order of {found.what}." if found.what else "Nothing has this name."
        said = element("p", f"{known} Type an id, a hash or an address in full.")
        return Page("Orders", said, above=search_form(text), is_live=False)
    rows = [_row(order) for order in found.orders]
    header = ("created (UTC)", "order", "kind", "status", "wallet", "client", "source", "value")
    following = None
    if found.following is not None:
        place = f"{found.following.created_at_ms}.{found.following.order_id}"
        query = urlencode({"q": text, "after": place})
        following = element("p", link(f"{PATH}/orders?{query}", "Older orders"))
    return Page(
        "Orders",
        joined(table(header, rows, caption=_first_upper(found.what)), following),
        above=search_form(text),
    )


def _row(order: Order) -> tuple[Child, ...]:
    return (
        moment(order.created_at_ms),
        link(f"{PATH}/orders/{quote(order.order_id, safe='')}", code(order.order_id)),
        order.kind.value,
        _status(order),
        _search_link(order.wallet, f"{order.wallet[:_SHORT]}…{order.wallet[-4:]}"),
        _search_link(order.client_id, order.client_id),
        order.source or "–",
        cents(order.usd_cents),
    )


def _search_link(text: str, shown: str) -> Markup:
    return link(f"{PATH}/orders?{urlencode({'q': text})}", code(shown))


def _status(order: Order) -> Child:
    if order.failure is None:
        return state(order.status.value)
    return joined(state(order.status.value), " ", order.failure.code.value)


def order_page(detail: OrderDetail, options: OperatorOptions) -> Page:
    """Return one order: what was promised, what the chain proved, and each event."""
    order = detail.order
    return Page(
        f"Order {order.order_id}",
        joined(
            facts(_facts(detail, options)),
            element("h2", "What the chain proved"),
            _block(order, options.tokens),
            element("h2", "Events"),
            _timeline(detail.events, order.created_at_ms),
        ),
    )


def _facts(detail: OrderDetail, options: OperatorOptions) -> list[tuple[str, Child]]:
    order = detail.order
    explorer_url, tokens = options.explorer_url, options.tokens
    client = joined(_search_link(order.client_id, order.client_id), " ", detail.client_name)
    return [
        ("status", _status(order)),
        ("kind", order.kind.value),
        ("created (UTC)", moment(order.created_at_ms)),
        ("client", client),
        ("wallet", _search_link(order.wallet, order.wallet)),
        ("nonce", order.nonce),
        ("transaction", link(f"{explorer_url}/tx/{order.tx_hash}", code(order.tx_hash))),
        ("sells", _amount(order.sell_amount, order.sell_token, tokens)),
        ("promised", _amount(order.buy_amount, order.buy_token, tokens)),
        ("at least", _amount(order.min_buy_amount, order.buy_token, tokens)),
        ("value when quoted", cents(order.usd_cents)),
        ("source", order.source or "–"),
        ("relay", f"tier {order.relays_label}, {order.endpoint_type}, {order.share_mode}"),
        ("accepted by the relay (UTC)", moment(order.submitted_at_ms)),
        ("submissions", str(order.attempts)),
        ("expires (UTC)", moment(order.expires_at_ms)),
        *([("can swap until (UTC)", moment(order.deadline_s * 1000))] if order.deadline_s else []),
        ("followed", "yes" if order.watched else "no: it is final"),
        *([("why", order.failure.message)] if order.failure else []),
        *([("the relay's last answer", order.relay_answer)] if order.relay_answer else []),
    ]


def _amount(amount: int, token: Address, tokens: TokenCatalogue) -> Child:
    """Return an amount in units of a listed token, else in smallest units of its address."""
    listed = tokens.get(token)
    if token == NATIVE:
        return f"{format_ether(amount)} ETH"
    if listed is None:
        return joined(f"{amount} smallest units of ", code(token))
    return joined(f"{format_units(amount, listed.decimals)} {listed.symbol} ", code(token))


def _block(order: Order, tokens: TokenCatalogue) -> Markup:
    block = order.inclusion
    if block is None:
        return element("p", "No block has decided this order.", class_="none")
    after = None if order.submitted_head is None else block.block_number - order.submitted_head
    refund = block.refund
    return facts(
        [
            ("block", str(block.block_number)),
            ("block hash", code(block.block_hash)),
            ("block time (UTC)", moment(block.block_time_ms)),
            ("blocks after the relay took it", "–" if after is None else str(max(after, 0))),
            (
                "receipt",
                state("ok") if block.succeeded else element("span", "reverted", class_="bad"),
            ),
            ("received", _received(order, tokens)),
            ("gas used", str(block.gas_used)),
            ("gas price (wei)", str(block.effective_gas_price)),
            (
                "refund",
                "–" if refund is None else f"{refund.status.value}: {refund.amount_wei} wei",
            ),
        ]
    )


def _refund(refund: Refund) -> str:
    amount = f": {refund.amount_wei} wei" if refund.amount_wei else ""
    return refund.status.value + amount + (f" by {refund.tx_hash}" if refund.tx_hash else "")


def _received(order: Order, tokens: TokenCatalogue) -> Child:
    block = order.inclusion
    assert block is not None
    if block.received is None:
        return f"unknown: {block.received_issue}" if block.received_issue else "–"
    amount = _amount(block.received, order.buy_token, tokens)
    if not order.buy_amount:
        return amount
    bps = difference_bps(block.received, order.buy_amount)
    return joined(amount, f" ({bps:+d} bps against the promise)")


def _timeline(events: Sequence[OrderEvent], start_ms: int) -> Markup:
    lines = []
    for event in events:
        moved = event.to_status
        if event.from_status and event.from_status != event.to_status:
            moved = f"{event.from_status} → {event.to_status}"
        seconds = (event.at_ms - start_ms) / 1000
        lines.append(
            element(
                "li",
                element(
                    "p",
                    element("strong", event.event_type.replace("_", " ")),
                    f" · {moved} · ",
                    moment(event.at_ms),
                    f" · {seconds:+.1f} s",
                ),
                element("p", event.evidence, class_="quiet"),
            )
        )
    return element("ol", lines, class_="timeline")


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]
