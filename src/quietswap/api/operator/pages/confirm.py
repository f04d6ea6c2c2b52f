"""The page that asks once before an action."""

from quietswap.api.operator.html import Child, Markup, code, element, joined
from quietswap.api.operator.page import Page
from quietswap.api.operator.pages.clients import key_state
from quietswap.api.operator.request import PATH, PageRequest
from quietswap.ports.clients import ApiKey


def revoke_key_page(request: PageRequest, key: ApiKey, now_ms: int) -> Page:
    """Ask before an API key is revoked."""
    if key.revoked_at_ms is not None:
        said = element("p", "The key ", code(key.id), " is revoked already.")
        return Page("Revoke an API key", joined(said, _back("/clients")), is_live=False)
    return _asking(
        request,
        "Revoke an API key",
        [
            element("p", "The key ", code(key.id), f" ({key.name}, {key_state(key, now_ms)}) of the"
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
