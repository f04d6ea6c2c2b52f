"""The endpoints of watches, and what is told when a price is met, over a real database."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import webhooks as library

from quietswap.rules.clients import Client
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason
from quietswap.rules.tokens.token import WETH, TokenPolicy
from quietswap.rules.tx.address import Address
from quietswap.rules.watches import LONGEST_S, MOST_OPEN
from quietswap.service.api.operation import ApiOptions
from quietswap.service.events.feed import EventFeed
from quietswap.service.quoting.price import QuotePrice
from quietswap.service.server.app import create_api
from quietswap.service.watches.follow import FollowWatches
from quietswap.service.watches.manage import ManageWatches
from tests.api.documented import documented_client
from tests.api.scripted_use_cases import SECRET, ScriptedUseCases
from tests.api.scripted_use_cases import HandClock as ApiClock
from tests.api.test_webhooks import OTHER, data, refused
from tests.contract import messages
from tests.quoting.test_quote_price import Chain, Scripted, desk
from tests.storage.examples import T0, HandClock
from tests.stored_orders import USDC
from tests.webhooks.scenes import KEY, PRIMARY, Scene, scene_on
from tests.webhooks.test_signatures import clock_at

PATH = "/api/v1/watches"
EVENTS = "/api/v1/mev/events"
ASK = {
    "sellToken": WETH, "buyToken": USDC, "sellAmount": str(10**18), "buyAmount": "3200000000",
    "condition": "atLeast",
}  # fmt: skip
OTHERS = {"X-API-Key": "qs_other"}
DENIED = Address("0x6B175474E89094C44Da98b954EedeAC495271d0F")
NO_ROUTE = NoRoute(NoRouteReason.NO_ROUTE, "no route")


class EndingFeed(EventFeed):
    """A feed whose streams end after the events that are stored."""

    async def follow(self, *place: Any) -> Any:
        stream = await super().follow(*place)
        following = stream.next

        async def until_last() -> Any:
            newest = await self.events.newest([stream.client_id])
            if stream.sequence >= newest.get(stream.client_id, 0):
                stream.close()
            return await following()

        stream.next = until_last
        return stream


@dataclass
class Market:
    """A service whose own source promises `own.answer`; `chain_clock` is the chain's time."""

    scene: Scene
    own: Scripted
    vendor: Scripted
    chain: Chain
    chain_clock: HandClock
    price: QuotePrice
    follow: FollowWatches
    api: httpx.AsyncClient

    async def events(self, after: int = 0, **query: Any) -> list[dict[str, Any]]:
        answer = await self.api.get(EVENTS, params={"after": after, **query})
        assert answer.status_code == 200, answer.text
        return messages(answer.text)

    async def watch(self, **changes: Any) -> Any:
        return data(await self.api.post(PATH, json=ASK | changes))

    async def states(self) -> list[str]:
        return [watch["state"] for watch in data(await self.api.get(PATH))["watches"]]


def follower(scene: Scene, price: QuotePrice, chain_clock: HandClock, **options: int) -> Any:
    return FollowWatches(
        watches=scene.storage.watches,
        own_amount=price.own_amount,
        leadership=scene.lead,  # type: ignore[arg-type]
        clock=scene.clock,
        chain_clock=chain_clock,
        **options,
    )


@pytest.fixture
async def market(tmp_path: Path) -> AsyncIterator[Market]:
    own, vendor = Scripted("own", seconds=0), Scripted("vendor", seconds=0)
    chain, chain_clock = Chain(), HandClock()
    async with scene_on(f"sqlite:///{tmp_path}/watches.db", PRIMARY) as scene:
        price = desk(
            own, vendor, own="own", chain=chain, policy=TokenPolicy(denied=frozenset({DENIED}))
        )
        price.clock = scene.clock
        inside = ScriptedUseCases(ApiClock())
        inside.keys = {SECRET: KEY, "qs_other": OTHER}
        await scene.storage.keys.add(OTHER, b"other", Client("client-2", "other", T0))
        use = replace(
            inside.use_cases(),
            watches=ManageWatches(scene.storage.watches, price, chain_clock),
            events=EndingFeed(scene.storage.events, scene.clock),
        )
        app = create_api(use, ApiOptions(), inside.clock)
        async with documented_client(app, **{"X-API-Key": SECRET}) as api:
            follow = follower(scene, price, chain_clock)
            yield Market(scene, own, vendor, chain, chain_clock, price, follow, api)


async def test_a_watch_from_its_creation_to_its_end(market: Market) -> None:
    made = await market.watch(deadline=T0 // 1000 + 60)
    assert made == ASK | {
        "id": made["id"], "state": "open", "createdAt": "2027-01-15T08:00:00.000Z",
        "expiresAt": "2027-01-15T08:01:00.000Z",
    }  # fmt: skip
    market.scene.clock.ms += 1
    other = await market.watch(condition="atMost")
    assert other["expiresAt"] == "2027-02-14T08:00:00.000Z"
    assert data(await market.api.get(PATH)) == {"watches": [other, made]}
    page = await market.api.get(PATH, params={"limit": 1, "offset": 1})
    assert data(page) == {"watches": [made]}
    path = f"{PATH}/{made['id']}"
    assert data(await market.api.delete(path)) == {"id": made["id"], "deleted": True}
    refused(await market.api.delete(path), 404, "WATCH_NOT_FOUND")
    refused(await market.api.delete(f"{PATH}/{'x' * 200}"), 404, "WATCH_NOT_FOUND")
    assert data(await market.api.get(PATH)) == {"watches": [other]}


async def test_another_client_sees_nothing(market: Market) -> None:
    made = await market.watch(buyAmount="1")
    assert data(await market.api.get(PATH, headers=OTHERS)) == {"watches": []}
    path = f"{PATH}/{made['id']}"
    refused(await market.api.delete(path, headers=OTHERS), 404, "WATCH_NOT_FOUND")
    await market.follow.step()
    answer = await market.api.get(EVENTS, params={"after": 0}, headers=OTHERS)
    assert messages(answer.text) == []
    assert await market.states() == ["met"]


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"sellToken": WETH.lower()}, "INVALID_TOKEN_ADDRESS", "sellToken"),
        ({"buyToken": WETH}, "INVALID_TOKEN_ADDRESS", "buyToken"),
        ({"buyToken": "0x" + "e" * 40}, "NATIVE_ETH_NOT_SUPPORTED", "buyToken"),
        ({"sellAmount": "0"}, "INVALID_AMOUNT", "sellAmount"),
        ({"buyAmount": "1.5"}, "INVALID_AMOUNT", "buyAmount"),
        ({"condition": "above"}, "INVALID_PARAMETER", "condition"),
        ({"deadline": T0 // 1000}, "INVALID_PARAMETER", "deadline"),
        ({"deadline": T0 // 1000 + LONGEST_S + 1}, "INVALID_PARAMETER", "deadline"),
        ({"deadline": T0}, "INVALID_PARAMETER", "deadline"),
        ({"deadline": 1e300}, "INVALID_PARAMETER", "deadline"),
    ],
)
async def test_bad_input_names_the_field(
    market: Market, changes: dict[str, Any], code: str, field: str
) -> None:
    body = refused(await market.api.post(PATH, json=ASK | changes), 400, code)
    details = body.get("details", {})
    assert field in (details.get("field"), details.get("parameter")), body
    assert await market.states() == []


async def test_shapes_are_checked_like_other_bodies(market: Market) -> None:
    for name in ASK:
        without = {key: value for key, value in ASK.items() if key != name}
        body = refused(await market.api.post(PATH, json=without), 400, "MISSING_PARAMETER")
        assert body["details"]["field"] == name
    for changes in ({"buyAmount": 5}, {"deadline": "x"}, {"deadlin": 1}):
        refused(await market.api.post(PATH, json=ASK | changes), 422, "VALIDATION_ERROR")
    body = refused(
        await market.api.post(PATH, json=ASK | {"buyToken": DENIED}), 404, "TOKEN_NOT_SUPPORTED"
    )
    assert "deny list" in body["message"]
    refused(await market.api.get(PATH, params={"limit": 0}), 400, "INVALID_PARAMETER")


async def test_a_service_without_an_own_source_watches_nothing(market: Market) -> None:
    for source in market.price.sources:
        source.is_own = False
    body = refused(await market.api.post(PATH, json=ASK), 400, "INVALID_PARAMETER")
    assert "no source of its own" in body["message"]


async def test_the_number_of_open_watches_is_limited(market: Market) -> None:
    for _ in range(MOST_OPEN):
        await market.watch()
    body = refused(await market.api.post(PATH, json=ASK), 409, "WATCH_LIMIT_REACHED")
    assert body["details"] == {"limit": MOST_OPEN}
    data(await market.api.post(PATH, json=ASK, headers=OTHERS))
    market.own.answer = 3_200_000_000
    await market.follow.step()
    await market.watch()


@pytest.mark.parametrize(
    ("condition", "missed", "met"),
    [
        ("atLeast", 3_199_999_999, 3_200_000_000),
        ("atMost", 3_200_000_001, 3_200_000_000),
    ],
)
async def test_a_met_watch_is_told_once_by_stream_and_webhook_and_asks_no_vendor(
    market: Market, monkeypatch: pytest.MonkeyPatch, condition: str, missed: int, met: int
) -> None:
    scene = market.scene
    _, secret = await scene.create("watch.met")
    await scene.create("order.created")
    await scene.order()
    made = await market.watch(condition=condition)
    market.own.answer = missed
    await market.follow.step()
    assert await market.states() == ["open"]
    market.own.answer = met
    for _ in range(2):
        await market.follow.step()
    watch = made | {
        "state": "met", "promised": str(met), "metAt": "2027-01-15T08:00:00.000Z",
    }  # fmt: skip
    assert data(await market.api.get(PATH)) == {"watches": [watch]}
    [order, event] = await market.events()
    assert (order["type"], order["sequence"]) == ("order.created", 1)
    assert event == {
        "id": f"evt_{made['id']}", "sequence": 2, "type": "watch.met",
        "at": "2027-01-15T08:00:00.000Z", "watch": watch,
    }  # fmt: skip
    assert await market.events(1) == [event]
    for _ in range(2):
        await scene.deliver()
    [told] = [r for r in scene.receiver.requests if r.headers["webhook-id"] == event["id"]]
    monkeypatch.setattr(library, "datetime", clock_at(scene.clock.ms))
    assert Verifier(secret).verify(told.body, told.headers) == event
    assert scene.got() == [order["id"], event["id"]] or scene.got() == [event["id"], order["id"]]
    assert [len(market.own.asked), len(market.vendor.asked)] == [2, 0]


async def test_filters_of_orders_pass_no_watch(market: Market) -> None:
    await market.watch(buyAmount="1")
    await market.follow.step()
    order = await market.scene.order()
    for only in ({"userAddress": order.wallet}, {"orderId": order.order_id}):
        assert [event["type"] for event in await market.events(**only)] == ["order.created"]


async def test_equal_watches_of_all_clients_ask_once_and_are_each_told(market: Market) -> None:
    await market.watch(buyAmount="1")
    await market.watch(buyAmount="2")
    data(await market.api.post(PATH, json=ASK | {"buyAmount": "3"}, headers=OTHERS))
    await market.follow.step()
    assert len(market.own.asked) == 1
    assert len(await market.events()) == 2
    answer = await market.api.get(EVENTS, params={"after": 0}, headers=OTHERS)
    assert len(messages(answer.text)) == 1


async def test_a_turn_has_a_bound_and_the_next_one_goes_on(market: Market) -> None:
    for sold in (1, 2, 3):
        await market.watch(sellAmount=str(sold))
    follow = follower(market.scene, market.price, market.chain_clock, most=2)
    for asked in (["1", "2"], ["1", "2", "3"], ["1", "2", "3", "1", "2"]):
        await follow.step()
        assert [str(one.sell_amount) for one in market.own.asked] == asked


@pytest.mark.parametrize("trouble", ["no price", "no node", "paused"])
async def test_without_a_price_a_watch_waits(market: Market, trouble: str) -> None:
    await market.watch(buyAmount="1")
    [own, _] = market.price.sources
    if trouble == "no price":
        market.own.answer = NO_ROUTE
    market.chain.down = trouble == "no node"
    own.pause_reason = "maintenance" if trouble == "paused" else None
    await market.follow.step()
    assert await market.states() == ["open"]
    market.own.answer, market.chain.down, own.pause_reason = 1, False, None
    await market.follow.step()
    assert await market.states() == ["met"]
    assert market.vendor.asked == []


async def test_the_time_of_the_chain_ends_a_watch(market: Market) -> None:
    await market.watch(deadline=T0 // 1000 + 60, buyAmount="1", condition="atMost")
    market.scene.clock.ms += 3_600_000
    await market.follow.step()
    assert await market.states() == ["open"]
    market.chain_clock.ms += 60_000
    market.own.answer = 1
    await market.follow.step()
    assert await market.states() == ["expired"]
    assert await market.events() == []


async def test_only_the_leader_asks(market: Market) -> None:
    await market.watch(buyAmount="1")
    market.scene.lead.is_held = False
    await market.follow.step()
    assert market.own.asked == []
