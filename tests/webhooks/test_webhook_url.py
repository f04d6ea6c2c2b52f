"""The parts of a webhook's URL that its request is made of."""

import pytest

from quietswap.rules.webhooks.addresses import MAX_LENGTH, InvalidWebhookUrl, parse_webhook_url


@pytest.mark.parametrize(
    ("text", "authority", "target"),
    [
        ("https://example.org", "example.org", "/"),
        ("https://example.org:443/in?a=1", "example.org", "/in?a=1"),
        ("https://example.org:444/in?", "example.org:444", "/in?"),
        ("https://[2001:db8::1]/in", "[2001:db8::1]", "/in"),
        ("https://[2001:db8::1]:8443/in", "[2001:db8::1]:8443", "/in"),
    ],
)
def test_the_host_header_names_a_port_only_if_it_is_unusual(
    text: str, authority: str, target: str
) -> None:
    url = parse_webhook_url(text)
    assert (url.authority, url.target) == (authority, target)


def test_the_longest_url_is_accepted_and_no_longer_one() -> None:
    longest = "https://example.org/".ljust(MAX_LENGTH, "a")
    assert len(parse_webhook_url(longest).target) == MAX_LENGTH - len("https://example.org")
    with pytest.raises(InvalidWebhookUrl, match=f"1 to {MAX_LENGTH} characters"):
        parse_webhook_url(longest + "a")
