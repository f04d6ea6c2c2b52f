"""A person with a keyboard alone: what has the focus, and whether it can be seen."""

import re
from typing import Any

from tests.browser.browser import Page
from tests.browser.locators import css

LOOKS = ((360, "light"), (1280, "dark"))
_MOST_TABS = 60
_FOCUS = """(() => {
  const at = document.activeElement
  const { outlineStyle, outlineWidth, outlineColor, outlineOffset } = getComputedStyle(at)
  const well = at.closest('.well')
  const accent = document.createElement('i')
  accent.style.color = 'var(--accent)'
  document.body.append(accent)
  const { color } = getComputedStyle(accent)
  accent.remove()
  const box = at.getBoundingClientRect()
  return {
    tag: at.tagName,
    inDialog: at.closest('dialog') !== null,
    ring: [outlineStyle, outlineWidth, outlineOffset].join() === 'solid,2px,2px' &&
      outlineColor === color,
    well: at.matches('.amount') && getComputedStyle(well).borderTopColor !== 'rgba(0, 0, 0, 0)',
    inSight: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  }
})()"""


def focus_of(page: Page) -> dict[str, Any]:
    """Return what is so of the element with the focus."""
    state: dict[str, Any] = page.call("evaluate", expression=_FOCUS)
    return state


def is_seen(page: Page, name: str) -> None:
    """Check in both windows that the focus is in sight, with a ring of the accent."""
    for width, scheme in LOOKS:
        page.look(width, scheme)
        focus = focus_of(page)
        assert focus["ring"] or focus["well"], (name, width, scheme, focus)
        assert focus["inSight"], (name, width, scheme)


def tab_to(page: Page, name: str) -> None:
    """Press Tab until a control has the focus; its name, or an expression that begins with ^."""
    pattern = name if name.startswith("^") else re.escape(name) + "$"
    for _ in range(_MOST_TABS):
        page.press("Tab")
        if re.match(pattern, page.focused()["name"]):
            return
    raise AssertionError(f"Tab does not reach {name}: {page.focused()}")


def reach(page: Page, name: str) -> None:
    """Press Tab until a control has the focus, and check that it is seen there."""
    tab_to(page, name)
    is_seen(page, name)


def enter(page: Page, name: str) -> None:
    """Reach a control and press Enter."""
    reach(page, name)
    page.press("Enter")


def opens(page: Page, name: str) -> None:
    """Open the dialog of a control: its focus is on its title, stays in it, and comes back."""
    enter(page, name)
    page.wait(css("dialog"))
    assert focus_of(page)["tag"] == "H2", name
    stays_inside(page)
    page.press("Escape")
    page.wait(css("dialog"), "detached")
    assert re.match(name, page.focused()["name"]), page.focused()
    is_seen(page, name)


def stays_inside(page: Page) -> None:
    """Check that Tab leaves a dialog for the browser's own bar alone."""
    for _ in range(12):
        page.press("Tab")
        focus = focus_of(page)
        assert focus["inDialog"] or focus["tag"] == "BODY", focus


def takes(page: Page, side: str, text: str) -> None:
    """Choose the first listed token that is found by `text`; `side`: what its button says now."""
    enter(page, side)
    page.wait(css("dialog"))
    assert focus_of(page)["tag"] == "INPUT", "the search"
    page.type(text)
    page.wait(css("#found[aria-busy=false] .it"))
    page.press("ArrowDown")
    page.press("Enter")
    page.wait(css("dialog"), "detached")
    assert page.focused()["name"].startswith(text)


def replaces(page: Page, text: str) -> None:
    """Type in the place of what the field with the focus has."""
    page.press("ControlOrMeta+a")
    page.type(text)
