"""Many clients at once: one order for the same bytes, and a budget that is exact."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.spec.api_client import ApiClient
from tests.spec.coverage import shows


@shows("error: 409 SIGNATURE_REPLAY")
def test_fifty_posts_of_the_same_bytes_are_one_order(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap = desk.swap(wallet)
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: desk.submit(swap), range(50)))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 49}
    taken = next(a for a in answers if a.status_code == 200).json()["data"]["order"]
    replays = {a.json()["details"]["orderId"] for a in answers if a.status_code == 409}
    assert replays == {taken["orderId"]}
    assert desk.history(wallet)["total"] == 1

    def given() -> list[dict[str, Any]]:
        return [row for row in desk.given_to_relays() if row["hash"] == taken["txHash"]]

    desk.until(given)
    (one,) = given()
    assert one["submissions"] == 1


def burst(client: httpx.Client) -> tuple[Counter[int], set[str]]:
    """Send 400 requests from eight threads; return the statuses and the windows they fell into."""
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.get("/api/v1/mev/orders/none"), range(400)))
    windows = {answer.headers["x-ratelimit-reset"] for answer in answers}
    return Counter(answer.status_code for answer in answers), windows


@shows("limit: Rate limit*")
def test_the_budget_is_exact_under_eight_parallel_clients(desk: ApiClient) -> None:
    counts, windows = burst(desk.api)
    if len(windows) > 1:  # a minute ended meanwhile: another key, early in the next one
        counts, windows = burst(desk.another())
    assert len(windows) == 1
    assert counts == {404: 300, 429: 100}
