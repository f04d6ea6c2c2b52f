"""In which order the sources of a quote are asked."""

from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.service.quoting.sources import Source, SourceFanOut
from tests.quoting.test_collect_routes import PLENTY, REQUEST, Scripted, a_route
from tests.virtual_time import LoopClock, run


def test_a_source_does_not_wait_for_the_budget_of_the_next() -> None:
    order: list[str] = []

    class Noted(Scripted):
        async def route(self, request: RouteRequest) -> Route:
            order.append(f"asked {self.name}")
            return await super().route(request)

    class Counted(Source):
        async def refusal(self, client_id: str) -> str | None:
            order.append(f"budget of {self.name}")
            return await super().refusal(client_id)

    async def work() -> None:
        clock = LoopClock()
        sources = [Counted(Noted(name, a_route(name)), PLENTY, clock) for name in "ab"]  # type: ignore[arg-type]
        with SourceFanOut(
            sources, "client", lambda one: one.route(REQUEST), clock, hard_s=1.0
        ) as asked:
            await asked.wait(1.0)

    run(work())
    assert order == ["budget of a", "asked a", "budget of b", "asked b"]
