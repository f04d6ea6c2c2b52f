"""Cookies that other programs of the same host have set do not take a session away."""

import pytest

from tests.web.conftest import Open
from tests.web.test_sessions import SESSION, TOKENS

FOREIGN = [
    'prefs={"theme":"dark"}', "version=1", "path=/x", "secure", 'x="un', "x[1]=2", "x=é",
    "theme=dark;", "x=hello world", "flag", "na me=1", "@x=1", "=v", "quietswap_sessions=qw_1",
]  # fmt: skip


@pytest.mark.parametrize("foreign", FOREIGN)
async def test_a_session_is_read_beside_any_other_cookie(visit: Open, foreign: str) -> None:
    begun = await visit().post(SESSION, json={})
    own = begun.headers["set-cookie"].partition(";")[0]
    other = visit()
    for cookies in (f"{foreign}; {own}", f"{own}; {foreign}", f"{foreign};{own};{foreign}"):
        answer = await other.get(TOKENS, headers={"cookie": cookies.encode("latin-1")})
        assert answer.status_code == 200, cookies
        again = await other.post(SESSION, json={}, headers={"cookie": cookies.encode("latin-1")})
        assert again.headers["set-cookie"].startswith(f"{own};"), "it goes on"
