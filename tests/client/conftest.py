"""The outside world of the client, and the client in both manners."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from quietswap.client import AsyncQuietswapClient, QuietswapClient
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import FakeServers, FakeService
from tests.example_counts import LONG

Do = Callable[..., Any]


class Time:
    """Counts the pauses instead of waiting."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return 1000.0 + sum(self.pauses)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        self.pauses.append(seconds)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def node() -> FakeChain:
    return FakeChain()


@pytest.fixture
def service(node: FakeChain) -> FakeService:
    """A service whose transactions are mined at once."""
    return FakeService(mines=node.mine, approvals=lambda: len(node.sent))


@pytest.fixture
def outside(service: FakeService, node: FakeChain) -> Iterator[FakeServers]:
    server = FakeServers(service, node)
    yield server
    server.close()


@pytest.fixture
def client(outside: FakeServers, time: Time) -> Iterator[QuietswapClient]:
    with QuietswapClient(
        outside.url,
        "qs_right",
        rpc_url=outside.rpc_url,
        sleep=time.sleep,
        monotonic=time.monotonic,
    ) as client:
        yield client


@pytest.fixture(params=["asynchronous", *["blocking"] * LONG])
def manner(request: pytest.FixtureRequest) -> str:
    """Both clients have the same methods and run the same flows."""
    return str(request.param)


@pytest.fixture(params=["blocking", "asynchronous"])
def either_manner(request: pytest.FixtureRequest) -> str:
    """`manner` for a module whose subject is what the two do not share: their transport."""
    return str(request.param)


@pytest.fixture
def do(manner: str, outside: FakeServers, time: Time) -> Do:
    """Call a method by name on a fresh client of either manner, without a node."""
    return _doing(manner, outside, time, None)


@pytest.fixture
def do_with_node(manner: str, outside: FakeServers, time: Time) -> Do:
    """The same, with a node of the caller's own."""
    return _doing(manner, outside, time, outside.rpc_url)


def _doing(manner: str, outside: FakeServers, time: Time, rpc_url: str | None) -> Do:
    def blocking(method: str, *args: Any, **kwargs: Any) -> Any:
        with QuietswapClient(
            outside.url, "qs_right", rpc_url=rpc_url, sleep=time.sleep, monotonic=time.monotonic
        ) as client:
            return getattr(client, method)(*args, **kwargs)

    def asynchronous(method: str, *args: Any, **kwargs: Any) -> Any:
        async def work() -> Any:
            async with AsyncQuietswapClient(
                outside.url,
                "qs_right",
                rpc_url=rpc_url,
                sleep=time.sleep_async,
                monotonic=time.monotonic,
            ) as client:
                return await getattr(client, method)(*args, **kwargs)

        return asyncio.run(work())

    return blocking if manner == "blocking" else asynchronous
