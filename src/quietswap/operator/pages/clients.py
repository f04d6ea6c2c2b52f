"""Clients and their keys: usage of this UTC day against the limits."""

from collections.abc import Sequence
from urllib.parse import urlencode

from quietswap.clients.client import ApiKey, ClientLimits
from quietswap.operator.operators import ClientRow
from quietswap.operator.page import (
    PATH,
    Child,
    Markup,
    Page,
    PageRequest,
    cents,
    code,
    element,
    joined,
    link,
    moment,
    state,
    table,
)

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
    keys = (
        "key",
        "state",
        "scope",
        "name",
        "last use, to a minute (UTC)",
        "expires (UTC)",
        "action",
    )
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
        table(header, _usage(row), caption="Usage of this UTC day", stacks=False),
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


def _key(key: ApiKey, now_ms: int) -> tuple[Child, ...]:
    word = key.state(now_ms)
    revoke = link(f"{PATH}/keys/{key.id}/revoke", f"Revoke {key.id}…")
    return (
        code(key.id),
        state(word),
        key.scope.value,
        key.name,
        moment(key.last_used_at_ms, "none stored"),
        moment(key.expires_at_ms, "never"),
        "–" if word == "revoked" else revoke,
    )


# The page that asks once before an action.


def revoke_key_page(request: PageRequest, key: ApiKey, now_ms: int) -> Page:
    """Ask before an API key is revoked."""
    if key.revoked_at_ms is not None:
        said = element("p", "The key ", code(key.id), " is revoked already.")
        return Page("Revoke an API key", joined(said, _back("/clients")), is_live=False)
    return _asking(
        request,
        "Revoke an API key",
        [
            element("p", "The key ", code(key.id), f" ({key.name}, {key.state(now_ms)}) of the"
                    " client ", code(key.client_id), " stops working within a second."),
            element("p", "This cannot be undone. Orders of the client are still followed."),
        ],
        "Revoke the key",
        f"/clients?q={key.client_id}",
    )  # fmt: skip


def pause_source_page(request: PageRequest, name: str) -> Page:
    """Ask before a source is paused, and for the reason."""
    reason = element(
        "label",
        "Reason (clients see it in each quote)",
        element("input", name="reason", maxlength="200", autocomplete="off"),
    )
    return _asking(
        request,
        f"Pause {name}",
        [
            element("p", f"No process sends requests to {name} from the next second on. Quotes are"
                    " made of the other sources."),
            reason,
        ],
        "Pause the source",
        "/sources",
    )  # fmt: skip


def resume_source_page(request: PageRequest, name: str) -> Page:
    """Ask before a source gets requests again."""
    said = element("p", f"Every process sends requests to {name} from the next second on.")
    return _asking(request, f"Resume {name}", [said], "Resume the source", "/sources")


def refused_page(title: str, reason: str, back: str) -> Page:
    """Say that an action changed nothing."""
    said = element("p", f"Nothing was changed: {reason}.", class_="bad", role="alert")
    return Page(title, joined(said, _back(back)), status=409, is_live=False)


def unrecorded_page(reason: str, back: str) -> Page:
    """Say that an action was done, but is not in the audit file."""
    said = element(
        "p", f"It was done, and the audit log has it, but {reason}.", class_="bad", role="alert"
    )
    return Page("Done, but not in the audit file", joined(said, _back(back)), is_live=False)


def _asking(request: PageRequest, title: str, texts: Child, button: str, back: str) -> Page:
    form = element(
        "form",
        request.form_field(),
        texts,
        element("p", element("button", button, class_="danger"), " ", _back(back)),
        method="post",
        action=PATH + request.path,
    )
    return Page(title, form, is_live=False)


def _back(path: str) -> Markup:
    return element("a", "Back", href=PATH + path, class_="button plain")
