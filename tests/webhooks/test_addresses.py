"""The table of addresses and URLs that a webhook may have, and those it may not."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

import pytest

from quietswap.rules.webhooks.addresses import (
    MAX_LENGTH,
    InvalidWebhookUrl,
    IpAddress,
    is_allowed_host,
    parse_webhook_url,
    refusal,
)

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1",
    "192.0.1.1", "198.17.255.255", "198.20.0.1", "223.255.255.255", "168.63.129.15",
    "2606:4700::1111", "2a00:1450:4001:80b::200e", "2001:200::1", "2003::1", "2400:cb00::1",
]  # fmt: skip

REFUSED = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
    "link-local": ["169.254.169.254", "169.254.170.2", "169.254.0.1", "fe80::1", "febf::1",
                   "fe80::1%eth0", "fe80::a9fe:a9fe"],
    "carrier-grade NAT": ["100.64.0.1", "100.127.255.255", "100.100.100.201"],
    "unique local": ["fc00::1", "fd00:ec3::254", "fd20:cf::254"],
    "this network": ["0.0.0.0", "0.1.2.3"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "unspecified": ["::"],
    "reserved": ["192.0.0.1", "240.0.0.1", "255.255.255.255", "2001:2::1", "2001:10::1",
                 "100::1", "4000::1", "5f00::1", "8000::1"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "benchmarking": ["198.18.0.1", "198.19.255.255"],
    "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:a9fe:a9fe",
                    "::ffff:169.254.169.254"],
    "IPv4-compatible": ["::127.0.0.1", "::8.8.8.8"],
    "NAT64": ["64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"],
    "6to4": ["2002:7f00:1::", "2002:a00:1::1", "192.88.99.1"],
    "Teredo": ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "site-local": ["fec0::1"],
    "a cloud provider's metadata": ["168.63.129.16", "100.100.100.200", "fd00:ec2::254",
                                    "fd00:ec2::23", "fd20:ce::254"],
}  # fmt: skip
OWN = {"loopback", "private", "carrier-grade NAT", "unique local"}


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_pass(text: str) -> None:
    assert refusal(ip_address(text)) is None


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts]
)
def test_others_are_refused_by_kind(kind: str, text: str) -> None:
    assert refusal(ip_address(text)) == kind
    assert refusal(ip_address(text), allow_private=True) == (None if kind in OWN else kind)


def borders() -> Iterator[IpAddress]:
    """Yield the borders of networks of each first byte, and one address of each first group."""
    for first in range(256):
        for network in (f"{first}.0.0.0/8", f"{first}.64.0.0/10", f"{first}.168.0.0/16"):
            yield ip_network(network)[0]
            yield ip_network(network)[-1]
    yield from (ip_address(f"{first:x}::1") for first in range(0x10000))


def test_each_address_that_python_knows_as_not_global_is_refused() -> None:
    """A second opinion."""
    bad = [found for found in borders() if not found.is_global or found.is_multicast]
    assert len(bad) > 1000
    assert [found for found in bad if not refusal(found)] == []


GOOD = {
    "https://example.com": ("example.com", 443, "/"),
    "https://EXAMPLE.com/Hook?a=1&b=2": ("example.com", 443, "/Hook?a=1&b=2"),
    "https://example.com:8443/x": ("example.com", 8443, "/x"),
    "https://1.1.1.1/": ("1.1.1.1", 443, "/"),
    "https://[2606:4700:0:0::1111]/": ("2606:4700::1111", 443, "/"),
    "https://xn--bcher-kva.example/%C3%A9?": ("xn--bcher-kva.example", 443, "/%C3%A9?"),
    "https://my_host.internal/": ("my_host.internal", 443, "/"),
}


@pytest.mark.parametrize("text", GOOD)
def test_urls_are_read(text: str) -> None:
    url = parse_webhook_url(text)
    assert (url.host, url.port, url.target) == GOOD[text]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("http://example.com/", "https://"),
        ("ftp://example.com/", "https://"),
        ("//example.com/", "https://"),
        ("example.com", "https://"),
        ("javascript:alert(1)", "https://"),
        ("", "1 to 2048 characters"),
        ("https://example.com/" + "a" * MAX_LENGTH, "1 to 2048 characters"),
        ("https://user:secret@example.com/", "user name or password"),
        ("https://@example.com/", "user name or password"),
        ("https://example.com@127.0.0.1/", "user name or password"),
        ("https://example.com/#top", "fragment"),
        ("https://example.com\\@127.0.0.1/", "ASCII"),
        ("https://exam ple.com/", "ASCII"),
        ("https://example.com/\r\nX: y", "ASCII"),
        ("https://example.com/\t", "ASCII"),
        ("https://bücher.example/", "ASCII"),
        ("https:///path", "host"),
        ("https://:443/", "host"),
        ("https://example.com:/", "port"),
        ("https://example.com:0/", "port"),
        ("https://example.com:65536/", "port"),
        ("https://example.com:http/", "port"),
        ("https://example..com/", "host name"),
        ("https://example.com./", "host name"),
        ("https://-x.example/", "host name"),
        ("https://%31%32%37.0.0.1/", "host name"),
        ("https://127.1/", "four decimal numbers"),
        ("https://2130706433/", "four decimal numbers"),
        ("https://0x7f000001/", "four decimal numbers"),
        ("https://0x7f.0.0.1/", "four decimal numbers"),
        ("https://0177.0.0.1/", "four decimal numbers"),
        ("https://127.0.0.0x1/", "four decimal numbers"),
        ("https://[::1%25eth0]/", "IPv6"),
        ("https://[v1.fe80::a]/", "IPv6"),
        ("https://[::1/", "host or port"),
    ],
)
def test_other_urls_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidWebhookUrl, match=reason):
        parse_webhook_url(text)


def test_http_is_read_only_where_it_is_allowed() -> None:
    url = parse_webhook_url("http://localhost:9000/hook", allow_http=True)
    assert (url.scheme, url.authority) == ("http", "localhost:9000")


def test_the_allow_list() -> None:
    allowed = ["hooks.example.com", "*.Example.org"]
    assert is_allowed_host("hooks.example.com", allowed)
    assert is_allowed_host("a.b.example.org", allowed)
    assert not is_allowed_host("example.org", allowed)
    assert not is_allowed_host("badexample.org", allowed)
    assert not is_allowed_host("hooks.example.com.evil.example", allowed)
    assert is_allowed_host("anything.example", [])
