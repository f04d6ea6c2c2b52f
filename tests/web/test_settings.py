"""Where the page is served: on loopback by itself, elsewhere by a setting and with host names."""

from typing import Any

import msgspec
import pytest

from quietswap.service.server.operator_view import is_enabled as is_operator_view_enabled
from quietswap.service.server.settings import BadSettings
from quietswap.service.server.web import is_web_enabled
from quietswap.service.settings import Settings


def settings(**sections: Any) -> Settings:
    return msgspec.convert(sections, Settings)


@pytest.mark.parametrize(
    ("sections", "is_enabled"),
    [
        ({}, True),
        ({"server": {"host": "::1"}}, True),
        ({"server": {"host": "0.0.0.0"}}, False),
        ({"server": {"behind_tls_proxy": True}}, False),
        ({"server": {"trusted_proxies": ["127.0.0.1"]}}, False),
        ({"server": {"allowed_hosts": ["swap.example"]}}, False),
        ({"server": {"allowed_hosts": ["localhost", "127.0.0.1"]}}, True),
        ({"web": {"enabled": False}}, False),
        ({"server": {"behind_tls_proxy": True}, "web": {"enabled": True}}, True),
        (
            {
                "server": {"host": "10.0.0.5", "allowed_hosts": ["swap.example"]},
                "web": {"enabled": True},
            },
            True,
        ),
    ],
)
def test_where_the_page_is_served(sections: dict[str, Any], is_enabled: bool) -> None:
    found = settings(**sections)
    assert is_web_enabled(found) is is_enabled
    if "web" not in sections:
        assert is_operator_view_enabled(found) is is_enabled


def test_beyond_loopback_its_names_are_listed() -> None:
    with pytest.raises(BadSettings, match=r"^web.enabled: .*server.allowed_hosts"):
        is_web_enabled(settings(server={"host": "10.0.0.5"}, web={"enabled": True}))
