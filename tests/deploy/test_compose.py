"""The compose file: settings that start, an order that holds, nothing open to the world."""

import re
from typing import Any

import pytest

from quietswap.service.settings import Settings
from quietswap.service.storage.database_urls import is_embedded
from tests.deploy.files import (
    DEPLOY,
    IMAGE_ENVIRONMENT,
    documents,
    good_settings,
    overspent,
    parse_command,
)

[COMPOSE] = documents("compose.yaml")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("api", "tracker", "migrate")
GIVEN = {
    "VALKEY_DIGEST": "sha256:" + "0" * 64,
    "QUIETSWAP_NODE__URLS": "https://node.example",
    "POSTGRES_PASSWORD": "secret",
}


def filled(text: str) -> str:
    """Return a value with its `${NAME:?...}` replaced as compose does."""
    return re.sub(r"\$\{(\w+):\?[^}]+\}", lambda match: GIVEN[match[1]], text)


def environment(service: str) -> dict[str, str]:
    return {name: filled(text) for name, text in SERVICES[service]["environment"].items()}


def settings(service: str) -> Settings:
    return good_settings(IMAGE_ENVIRONMENT | environment(service))


def test_the_settings_start_the_service() -> None:
    for service in OURS:
        found = settings(service)
        assert not is_embedded(found.storage.url)
        assert found.storage.redis_url is not None


def test_commands_are_those_of_the_command_line() -> None:
    for service in OURS:
        assert parse_command(SERVICES[service]["command"]).name == SERVICES[service]["command"][0]


def test_what_is_asked_of_the_shell_does_not_disturb_the_commands_there() -> None:
    asked = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text("utf-8")))
    assert asked == set(GIVEN)
    good_settings({name: text for name, text in GIVEN.items() if name.startswith("QUIETSWAP_")})


def test_two_replicas_share_the_vendors_limits() -> None:
    replicas = SERVICES["api"]["deploy"]["replicas"]
    assert replicas == 2
    assert overspent(settings("api"), replicas) == []
    assert overspent(settings("api"), replicas + 1) != []


def test_the_schema_is_there_before_the_api_starts() -> None:
    assert SERVICES["api"]["depends_on"]["migrate"] == {
        "condition": "service_completed_successfully"
    }
    assert SERVICES["api"]["depends_on"]["valkey"] == {"condition": "service_healthy"}
    assert SERVICES["migrate"]["depends_on"]["postgres"] == {"condition": "service_healthy"}
    for service in ("postgres", "valkey"):
        assert SERVICES[service]["healthcheck"]["test"][0] == "CMD"


def test_the_api_leaves_the_orders_to_one_tracker_of_its_own() -> None:
    assert not settings("api").tracking.enabled
    assert settings("tracker").tracking.enabled
    assert SERVICES["tracker"]["depends_on"] == SERVICES["api"]["depends_on"]
    assert SERVICES["tracker"]["restart"] == "unless-stopped"
    one, other = settings("api"), settings("tracker")
    assert (one.storage, one.node, one.relay) == (other.storage, other.node, other.relay)


def test_hosts_in_the_settings_are_services() -> None:
    found = settings("api").storage
    for url in (found.url, found.redis_url):
        host = re.sub(r".*@|.*//", "", url or "").partition("/")[0].partition(":")[0]
        assert host in SERVICES


def test_the_database_is_the_one_the_url_names() -> None:
    database = environment("postgres")
    user, password = database["POSTGRES_USER"], database["POSTGRES_PASSWORD"]
    expected = f"postgresql://{user}:{password}@postgres/{database['POSTGRES_DB']}"
    assert settings("api").storage.url == expected


def test_only_the_api_is_published_and_only_on_this_machine() -> None:
    published = {name: found["ports"] for name, found in SERVICES.items() if "ports" in found}
    assert published == {"api": ["127.0.0.1:8080-8081:8080"]}
    assert COMPOSE["networks"]["stores"] == {"internal": True}
    for name in ("postgres", "valkey"):
        assert SERVICES[name]["networks"] == ["stores"]


def test_our_containers_may_do_nothing_they_need_not() -> None:
    for service in OURS:
        found = SERVICES[service]
        assert found["read_only"] is True
        assert found["cap_drop"] == ["ALL"]
        assert found["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("service", ["api", "tracker"])
def test_there_is_time_to_stop(service: str) -> None:
    assert int(SERVICES[service]["stop_grace_period"].removesuffix("s")) > 10
