"""Who may open the operator view: the secret, the session, its cookie, and forged requests."""

import re
from typing import Any

import httpx
import pytest
import structlog

from quietswap.rules.clients import AuditEntry
from quietswap.rules.orders.stores import StoreUnavailable
from tests.operators.conftest import ORIGIN, Office, Visit, log_in, token_of

PAGES = ("", "/orders", "/sources", "/relay", "/node", "/clients", "/health", "/audit")


async def revoke(office: Office, operator_id: str) -> None:
    entry = AuditEntry("aud_r", office.clock.now_ms(), {}, "operator_revoked", {})
    assert await office.storage.operators.revoke(operator_id, office.clock.now_ms(), entry)


async def test_every_page_asks_for_the_login(visit: Visit) -> None:
    client = visit()
    for path in (*PAGES, "/orders/ord_1", "/keys/key_1/revoke", "/nothing"):
        for answer in (
            await client.get(f"/operator{path}"),
            await client.post(f"/operator{path}", data={"token": "0" * 64}),
        ):
            assert (answer.status_code, answer.headers["location"]) == (303, "/operator/login")
            assert not answer.content


async def test_the_right_secret_opens_a_session(office: Office, visit: Visit) -> None:
    operator, secret = await office.operator()
    client = visit()
    answer = await log_in(client, secret)
    assert (answer.status_code, answer.headers["location"]) == (303, "/operator")
    session, form = answer.headers.get_list("set-cookie")
    assert re.fullmatch(
        r"quietswap_operator=qt_[0-9a-f]{64}; Path=/operator; Max-Age=3600; HttpOnly; "
        r"SameSite=Strict",
        session,
    )
    assert form.startswith("quietswap_operator_form=; Path=/operator; Max-Age=0;")
    page = await client.get("/operator")
    assert page.status_code == 200
    assert operator.name in page.text
    [known] = await office.storage.operators.list()
    assert known.last_login_at_ms == office.clock.now_ms()


async def test_by_tls_the_cookie_is_secure(office: Office, visit: Visit) -> None:
    _, secret = await office.operator()
    client = visit(secure=True)
    session, _ = (await log_in(client, secret)).headers.get_list("set-cookie")
    assert session.startswith("__Secure-quietswap_operator=qt_")
    assert session.endswith("; Secure")
    assert (await client.get("/operator")).status_code == 200
    fixed = session.partition(";")[0].removeprefix("__Secure-")
    client.cookies.clear()
    again = await client.get("/operator", headers={"cookie": fixed})
    assert again.status_code == 303


@pytest.mark.parametrize("foreign", ['prefs={"a":1}', "version=1", "flag", "=v", "na me=1"])
async def test_cookies_of_other_programs_do_not_matter(
    office: Office, visit: Visit, foreign: str
) -> None:
    _, secret = await office.operator()
    form = await visit().get("/operator/login")
    [own] = [cookie.partition(";")[0] for cookie in form.headers.get_list("set-cookie")]
    answer = await visit().post(
        "/operator/login",
        data={"token": token_of(form), "secret": secret},
        headers={"cookie": f"{foreign}; {own}; {foreign}"},
    )
    assert answer.status_code == 303, answer.text
    session = answer.headers.get_list("set-cookie")[0].partition(";")[0]
    beside = {"cookie": f"{foreign}; {session}; {foreign}"}
    assert (await visit().get("/operator", headers=beside)).status_code == 200


async def test_a_wrong_secret_opens_nothing(office: Office, visit: Visit) -> None:
    await office.operator()
    client = visit()
    for secret in ("", "qo_" + "0" * 64, "qs_" + "0" * 64, "x" * 5000, "'; --"):
        answer = await log_in(client, secret)
        assert answer.status_code == 403
        assert "not valid" in answer.text
        assert "quietswap_operator=" not in str(answer.headers.get_list("set-cookie"))
        assert (await client.get("/operator")).status_code == 303


async def test_wrong_secrets_of_an_address_are_limited_and_right_ones_are_not(
    office: Office, visit: Visit
) -> None:
    """Behind a proxy or a shared address, somebody else's guesses keep no operator out."""
    _, secret = await office.operator()
    client = visit()
    for _ in range(7):  # right ones do not count
        assert (await log_in(visit(), secret)).status_code == 303
    for _ in range(5):
        assert (await log_in(client, "qo_wrong")).status_code == 403
    for wrong in ("qo_wrong", "qo_" + "0" * 64, ""):
        answer = await log_in(client, wrong)
        assert answer.status_code == 429
        assert "not valid" in answer.text
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert "quietswap_operator=" not in str(answer.headers.get_list("set-cookie"))
    assert (await log_in(visit("192.0.2.2"), "qo_wrong")).status_code == 403
    assert (await log_in(client, secret)).status_code == 303
    office.clock.ms += 60_000
    assert (await log_in(visit(), "qo_wrong")).status_code == 403


async def test_a_revoked_operator_is_out_in_the_middle(office: Office, visit: Visit) -> None:
    operator, secret = await office.operator()
    client = visit()
    await log_in(client, secret)
    token = token_of(await client.get("/operator"))
    await revoke(office, operator.id)
    assert (await client.get("/operator")).status_code == 303
    answer = await client.post("/operator/sources/velora/pause", data={"token": token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/operator/login")
    assert not await office.storage.paused_sources.list()
    assert (await log_in(client, secret)).status_code == 403


async def test_a_session_ends_with_its_time_and_with_the_logout(
    office: Office, visit: Visit, desk: httpx.AsyncClient
) -> None:
    _, secret = await office.operator("bob")
    other = visit()
    await log_in(other, secret)
    cookie = desk.cookies["quietswap_operator"]
    token = token_of(await desk.get("/operator"))
    answer = await desk.post("/operator/logout", data={"token": token})
    assert answer.headers["location"] == "/operator/login"
    assert "Max-Age=0" in answer.headers["set-cookie"]
    # the cookie is worthless then, also for one who kept it
    again = await desk.get("/operator", headers={"cookie": f"quietswap_operator={cookie}"})
    assert again.status_code == 303
    assert (await other.get("/operator")).status_code == 200
    office.clock.ms += 3600 * 1000
    assert (await other.get("/operator")).status_code == 303


async def test_each_login_has_a_session_of_its_own(office: Office, visit: Visit) -> None:
    """A session that somebody prepared before the login is not used."""
    _, secret = await office.operator()
    prepared = "qt_" + "1" * 64
    client = visit()
    client.cookies.set("quietswap_operator", prepared)
    session, _ = (await log_in(client, secret)).headers.get_list("set-cookie")
    assert prepared not in session
    stranger = visit()
    answer = await stranger.get("/operator", headers={"cookie": f"quietswap_operator={prepared}"})
    assert answer.status_code == 303


async def test_no_other_cookie_opens_the_view(visit: Visit) -> None:
    cookies = (
        "quietswap_session=qw_" + "1" * 64,
        "quietswap_operator=qw_" + "1" * 64,
        "quietswap_operator=qo_" + "1" * 64,
        "quietswap_operator=" + "a" * 4000,
        'quietswap_operator="; quietswap_operator=x',
        "\xff=\xff",
    )
    client = visit()
    for cookie in cookies:
        answer = await client.get("/operator", headers={"cookie": cookie.encode("latin-1")})
        assert answer.status_code == 303


async def test_the_secret_is_no_api_key_and_no_cookie(office: Office, visit: Visit) -> None:
    _, secret = await office.operator()
    client = visit()
    answer = await client.get("/api/v1/mev/usage", headers={"x-api-key": secret})
    assert answer.status_code == 401
    answer = await client.get("/operator", headers={"cookie": f"quietswap_operator={secret}"})
    assert answer.status_code == 303


FORGED: list[dict[str, Any]] = [
    {"headers": {"origin": "https://evil.example"}},
    {"headers": {"origin": "null"}},
    {"headers": {"origin": ""}},
    {"headers": {"sec-fetch-site": "cross-site"}},
    {"headers": {"sec-fetch-site": "same-site"}},
    {"headers": {"content-type": "text/plain"}},
    {"data": {"token": "0" * 64}},
    {"data": {"token": ""}},
    {"data": {}},
    {"data": {"token": "é" * 64}},
]


async def test_a_forged_form_changes_nothing(office: Office, desk: httpx.AsyncClient) -> None:
    path = "/operator/sources/velora/pause"
    token = token_of(await desk.get(path))
    for change in FORGED:
        sent: dict[str, Any] = {"data": {"token": token}, "headers": {}} | change
        answer = await desk.post(path, **sent)
        assert answer.status_code == 403, change
        assert not await office.storage.paused_sources.list()
    assert (await desk.post(path, data={"token": token})).status_code == 303


async def test_the_token_of_another_session_is_refused(
    office: Office, visit: Visit, desk: httpx.AsyncClient
) -> None:
    _, secret = await office.operator("bob")
    other = visit()
    await log_in(other, secret)
    token = token_of(await other.get("/operator/sources/velora/pause"))
    answer = await desk.post("/operator/sources/velora/pause", data={"token": token})
    assert answer.status_code == 403


async def test_a_forged_login_is_refused(office: Office, visit: Visit) -> None:
    """A page of another site must not log a browser in as somebody else."""
    _, secret = await office.operator()
    client = visit()
    token = token_of(await client.get("/operator/login"))
    form = {"token": token, "secret": secret}
    evil = await client.post("/operator/login", data=form, headers={"origin": "https://evil.test"})
    assert evil.status_code == 403
    client.cookies.clear()
    assert (await client.post("/operator/login", data=form)).status_code == 403


async def test_bodies_are_bounded(desk: httpx.AsyncClient) -> None:
    token = token_of(await desk.get("/operator"))
    large = await desk.post("/operator/logout", data={"token": token, "x": "y" * 9000})
    assert large.status_code == 400
    many = await desk.post(
        "/operator/logout", data={"token": token} | {f"f{n}": "" for n in range(30)}
    )
    assert many.status_code == 403
    assert (await desk.get("/operator")).status_code == 200


async def test_other_methods_are_refused(desk: httpx.AsyncClient) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        answer = await desk.request(method, "/operator")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")


async def test_every_answer_has_the_policy(visit: Visit, desk: httpx.AsyncClient) -> None:
    stranger = visit()
    answers = [await desk.get(f"/operator{path}") for path in (*PAGES, "/nothing", "/assets/x")]
    answers += [await stranger.get("/operator"), await stranger.get("/operator/login")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "style=" not in answer.text


async def test_no_secret_reaches_the_log_or_a_page(office: Office, visit: Visit) -> None:
    _, secret = await office.operator()
    client = visit()
    with structlog.testing.capture_logs() as lines:
        await log_in(client, "qo_" + "7" * 64)
        await log_in(client, secret)
        texts = [(await client.get(f"/operator{path}")).text for path in PAGES]
    session = client.cookies["quietswap_operator"]
    assert {line["event"] for line in lines} >= {"operator_refused", "operator_logged_in"}
    for text in (*texts, str(lines)):
        assert secret not in text
        assert session not in text
        assert "7" * 16 not in text


async def test_a_database_that_is_away_is_said_in_words(
    office: Office, desk: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(type(office.storage.database), "fetch", away)
    answer = await desk.get("/operator/orders")
    assert answer.status_code == 503
    assert "does not answer" in answer.text


async def test_a_proxy_may_change_the_scheme(desk: httpx.AsyncClient) -> None:
    token = token_of(await desk.get("/operator"))
    headers = {"origin": ORIGIN.replace("http", "https")}
    answer = await desk.post("/operator/logout", data={"token": token}, headers=headers)
    assert answer.status_code == 303
