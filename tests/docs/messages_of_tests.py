"""Refusals that existing tests provoke, with the arguments that led to them.

`sections` runs the tests of `CHAPTERS` in this process and records what `pytest.raises` caught and
what the command line printed.
"""

import os
import shlex
from collections.abc import Callable, Generator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from types import TracebackType
from typing import Any
from unittest import mock

import pytest
from _pytest.raises import RaisesExc
from click.testing import CliRunner, Result
from httpx import Response

from quietswap.errors.base import RequestError
from tests.docs.messages import Said, Sections, json_text
from tests.docs.messages_over_http import said

CHAPTERS: dict[str, tuple[str, ...]] = {
    "Settings": ("tests/e2e/test_settings.py::test_a_bad_setting_is_refused_by_name",),
    "Command line": (
        "tests/cli/test_slips.py",
        "tests/cli/test_trade_arguments.py",
        "tests/cli/test_signing_options.py",
    ),
    "Clients": (
        "tests/client/test_swap_safety.py",
        "tests/client/test_wrap_flow.py",
        "tests/client/test_cancel_flow.py",
        "tests/client/test_cancel_nonce.py",
        "tests/client/test_simulation.py",
        "tests/client/test_unbound.py",
        "tests/client/test_loss.py",
        "tests/client/test_status_contradiction.py",
        "tests/client/test_transaction_hash_mismatch.py",
        "tests/client/test_hostile_answers.py",
    ),
    "Calldata": (
        "tests/routers/test_calldata.py",
        "tests/routers/test_swap_router02.py",
        "tests/routers/test_derived_pools.py",
    ),
    "Routes and sources": (
        "tests/vendors/test_scenarios.py",
        "tests/quoting/test_money_rules.py",
        "tests/quoting/test_no_route.py",
    ),
    "Keys, limits, events and webhooks": (
        *map(
            "tests/clients/test_api_keys.py::test_{}".format,
            (
                "a_key_works_until_the_moment_it_expires_even_from_the_cache",
                "the_keys_of_a_disabled_client_stop_within_a_second_and_work_again",
            ),
        ),
        *map(
            "tests/storage/test_client_limits.py::test_{}".format,
            (
                "a_swap_of_unknown_value_is_refused_where_a_usd_limit_stands",
                "a_transaction_of_unknown_content_meets_no_limit_in_usd_or_tokens",
            ),
        ),
        *map(
            "tests/events/test_event_feed.py::test_{}".format,
            (
                "a_place_that_is_pruned_or_does_not_exist_is_told",
                "streams_are_bounded_by_client_and_in_all",
                "visitors_of_the_page_leave_streams_to_clients",
            ),
        ),
        *map(
            "tests/api/test_webhooks.py::test_{}".format,
            (
                "without_a_key_for_secrets_nothing_is_created",
                "the_number_of_webhooks_is_limited",
            ),
        ),
    ),
    "Use cases": (
        "tests/orders/test_submit_swap.py",
        "tests/orders/test_submit_wrap.py",
        "tests/orders/test_cancel_refusals.py",
        "tests/wallet_rpc/test_wallet_send_refusals.py",
        "tests/clients/test_client_limits.py",
    ),
}
_LEFT_OUT = (
    "bits or terms_are_read or login_that or command_that_signs or command_signs"
    " or confirm_is_asked or by_the_table or without_a_proof or row_is_of or unknown_selector"
    " or invalid_forms or no_url or honest or passes or html or garbage or odd_times"
    " or server_error or value_is_no_amount or zero_recipient or genuine or copied"
    " or without_its_schema or what_a_caller_names"
)
"""Tests that are slow, or repeat the messages of others."""
_FIXTURES = ("manner", "backend", "request", "url", "_asyncio_loop_factory")


class Recorder:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self.sections: Sections = {}
        self.item: pytest.Item | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        self.item = item
        try:
            return (yield)
        finally:
            self.item = None

    def say(self, sent: str | None, answer: str) -> None:
        """Keep what the running test got; `sent` if not its arguments."""
        assert isinstance(self.item, pytest.Function)
        path = self.item.nodeid.partition("::")[0]
        chapter = next(name for name, paths in CHAPTERS.items() if path in str(paths))
        title = self.item.function.__name__.removeprefix("test_").replace("_", " ")
        callspec = getattr(self.item, "callspec", None)
        params = callspec.params if callspec else {}
        shown = (f"{name}={_shown(value)}" for name, value in params.items()
                 if name not in _FIXTURES)  # fmt: skip
        row = Said(sent or ", ".join(shown), answer)
        rows = self.sections.setdefault(f"{chapter}: {title}", ("", []))[1]
        rows.extend([row] * (row not in rows))

    def caught(self, error: BaseException) -> None:
        """Keep an error."""
        if isinstance(error, RequestError):
            details = [f"details: {json_text(error.details)}"] if error.details else []
            more = [f"suggestion: {error.suggestion}"] if error.suggestion else []
            self.say(None, "\n".join((error.code, error.message, *details, *more)))
        elif not isinstance(error, AssertionError):
            self.say(None, f"{type(error).__name__}\n{error}")


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return f"0x{value[:40].hex()}..."
    text = str(getattr(value, "__name__", repr(value)))
    return text if len(text) <= 200 else f"{text[:200]}..."


def sections() -> Sections:
    """Run the tests and return what they were told."""
    recorder = Recorder()
    leave: Callable[..., bool] = RaisesExc.__exit__
    invoke: Callable[..., Result] = CliRunner.invoke

    def leaving(
        self: RaisesExc[Any],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        matches = leave(self, kind, error, trace)
        if matches and error is not None and recorder.item is not None:
            recorder.caught(error)
        return matches

    def invoking(self: CliRunner, command: Any, words: Sequence[str] = (), **more: Any) -> Result:
        done = invoke(self, command, words, **more)
        if done.exit_code and recorder.item is not None:
            given = (f"{name}={value}" for name, value in (more.get("env") or {}).items()
                     if value is not None and "__" in name)  # fmt: skip
            sent = " ".join((*given, "quietswap", shlex.join(words)))
            _, error, text = done.output.rpartition("Error: ")
            lines = text.strip().splitlines()
            told = "\n".join(lines if error else lines[-2:])
            recorder.say(sent, f"exit code {done.exit_code}\n{told}")
        return done

    def refusing(answer: Response, _status: int, _code: str) -> Any:
        recorder.say(f"{answer.request.method} {answer.request.url.path}", said(answer))
        return answer.json()

    with (
        mock.patch("tests.api.test_webhooks.refused", refusing),
        redirect_stdout(StringIO()) as output,
        mock.patch.dict(os.environ, {"COLUMNS": "100"}),
        mock.patch.object(RaisesExc, "__exit__", leaving),
        mock.patch.object(CliRunner, "invoke", invoking),
    ):
        paths = [path for chapter in CHAPTERS.values() for path in chapter]
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            f"not ({_LEFT_OUT})",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        assert pytest.main([*options, *paths], plugins=[recorder]) == 0, output.getvalue()
    return recorder.sections
