"""The default request budgets of the aggregators: they limit a service without API keys."""

from collections.abc import Mapping

from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.server.factories import chosen_sources, request_budget
from quietswap.service.settings import Settings


def default_budgets() -> Mapping[str, RequestBudget]:
    """Return the budget of each source that a service without settings asks."""
    settings = Settings()
    return {name: request_budget(settings, name) for name in chosen_sources(settings)}


def limits(budgets: Mapping[str, RequestBudget]) -> str:
    """Return the table of the budgets: the largest limits quotes of any kind."""
    lines = [
        f"| `{name}` | {budget.per_second:g} | {_count(budget.per_day) or 'no limit'} |"
        for name, budget in budgets.items()
    ]
    most = max(budgets, key=lambda name: budgets[name].per_second)
    least = min(budgets, key=lambda name: budgets[name].per_second)
    days = [budget.per_day for budget in budgets.values() if budget.per_day is not None]
    a_day = f", and at most {_count(min(days))} a day" if days else ""
    limit = (
        f"A service without API keys therefore makes at most {budgets[most].per_second:g} swap "
        f"quotes a second, whatever the machine does: those that `{most}` answers. At most "
        f"{budgets[least].per_second:g} a second{a_day}, compares all {len(budgets)} sources."
    )
    head = "| source | quotes a second | quotes a day |\n|---|---:|---:|"
    return "\n".join((head, *lines, "", limit))


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}".replace(",", " ")
