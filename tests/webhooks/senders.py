"""Senders and resolvers for tests, and TLS receivers that they trust."""

import asyncio
import ssl
from collections.abc import Sequence
from functools import cache
from ipaddress import ip_address

import trustme

from quietswap.rules.webhooks.addresses import IpAddress
from quietswap.service.webhooks.sender import SenderPolicy, WebhookSender, tls_context

NAME = "hooks.example.com"
AUTHORITY = trustme.CA()


class Rebinding:
    """A resolver whose answers change with each question."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, _client_id: str) -> Sequence[IpAddress]:
        self.asked.append(host)
        now = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        return tuple(ip_address(text) for text in now)


class Silent:
    """A resolver whose name servers never answer."""

    async def resolve(self, host: str, _client_id: str) -> Sequence[IpAddress]:
        await asyncio.Event().wait()
        raise AssertionError(host)


@cache
def trusting() -> ssl.SSLContext:
    context = tls_context()
    AUTHORITY.configure_trust(context)
    return context


@cache
def serving(name: str = NAME) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(name).configure_cert(context)
    return context


def sender(
    resolver: object = None, *, private: bool = True, hosts: Sequence[str] = (), wait: float = 30
) -> WebhookSender:
    policy = SenderPolicy(timeout_s=wait, allow_private=private, allowed_hosts=hosts)
    chosen = resolver or Rebinding(["127.0.0.1"])
    return WebhookSender(chosen, trusting(), policy)  # type: ignore[arg-type]
