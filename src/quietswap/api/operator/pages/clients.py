"""Clients and their keys: usage of this UTC day against the limits."""

from collections.abc import Sequence
from urllib.parse import urlencode

from quietswap.api.operator.html import Child, Markup, code, element, joined, link, moment, table
from quietswap.api.operator.page import Page
from quietswap.api.operator.pages.words import cents, state
from quietswap.api.operator.request import PATH
from quietswap.domain.client_limits import ClientLimits
from quietswap.ports.clients import ApiKey
from quietswap.ports.operator_view import ClientRow

PAGE = 25
"""Clients on one page."""


def clients_page(text: str, found: Sequence[ClientRow], now_ms: int) -> Page:
    """Return clients, the newest first. `found` has one more than a page if there are more."""
    field = element("input", type="search", name="q", value=text, autocomplete="off")
    form = element(
        "form",
        element("label", "Client id or name, or API key id", field),
        element("button", "Search"),
        class_="search",
        action=f"{PATH}/clients",
    )
    if not found:
        said = "No client and no key has this id or name." if text else "There is no client yet."
        return Page("Clients", element("p", said), above=form, is_live=False)
    following = None
    if len(found) > PAGE:
        last = found[PAGE - 1].client
        query = urlencode({"after": f"{last.created_at_ms}.{last.id}"})
        following = element("p", link(f"{PATH}/clients?{query}", "Older clients"))
    sections = [_client(row, now_ms) for row in found[:PAGE]]
    return Page("Clients", joined(sections, following), above=form)


def _client(row: ClientRow, now_ms: int) -> Markup:
    client = row.client
    query = urlencode({"q": client.id})
    disabled = element("span", " disabled", class_="bad") if client.disabled_at_ms else None
    header = ("use today", "used", "limit")
    keys = ("key", "state", "scope", "name", "last use (UTC)", "expires (UTC)", "action")
    return element(
        "section",
        element("h2", client.name, disabled),
        element(
            "p",
            code(client.id),
            " since ",
            moment(client.created_at_ms),
            " · ",
            link(f"{PATH}/orders?{query}", "its orders"),
        ),
        table(header, _usage(row), caption="Usage of this UTC day"),
        table(keys, [_key(key, now_ms) for key in row.keys], caption="API keys"),
    )


def _usage(row: ClientRow) -> list[tuple[Child, ...]]:
    limits, today = row.limits, row.today
    rows: list[tuple[Child, ...]] = [
        ("quotes", str(today.quotes), _limit(limits.quotes_per_day)),
        ("orders", str(today.orders), "–"),
        ("value", cents(today.usd_cents), _money(limits.usd_cents_per_day)),
        ("open orders", str(row.open_orders), _limit(limits.open_orders)),
    ]
    others = _others(limits)
    return [*rows, ("further limits", "", others)] if others else rows


def _others(limits: ClientLimits) -> str:
    said = []
    if limits.requests_per_minute is not None:
        said.append(f"{limits.requests_per_minute} requests a minute")
    if limits.usd_cents_per_swap is not None:
        said.append(f"{cents(limits.usd_cents_per_swap)} a swap")
    if limits.wallets:
        said.append(f"{len(limits.wallets)} wallets only")
    if limits.tokens:
        said.append(f"{len(limits.tokens)} tokens only")
    return ", ".join(said)


def _limit(value: int | None) -> str:
    return "none" if value is None else str(value)


def _money(value: int | None) -> str:
    return "none" if value is None else cents(value)


def key_state(key: ApiKey, now_ms: int) -> str:
    """Return the state of a key in one word."""
    if key.revoked_at_ms is not None:
        return "revoked"
    if key.expires_at_ms is not None and key.expires_at_ms <= now_ms:
        return "expired"
    return "disabled" if key.is_client_disabled else "live"


def _key(key: ApiKey, now_ms: int) -> tuple[Child, ...]:
    word = key_state(key, now_ms)
    revoke = link(f"{PATH}/keys/{key.id}/revoke", f"Revoke {key.id}…")
    return (
        code(key.id),
        state(word),
        key.scope.value,
        key.name,
        moment(key.last_used_at_ms, "never"),
        moment(key.expires_at_ms, "never"),
        "–" if word == "revoked" else revoke,
    )
