"""What `orders show` tells of the relay: its last word, whatever came after."""

from quietswap.cli.commands.orders import relay_verdict
from quietswap.rules.orders.order import OrderEvent


def event(event_type: str, evidence: str, at_ms: int = 0) -> OrderEvent:
    return OrderEvent("ord_1", at_ms, event_type, "mining", "mining", evidence)


def test_the_last_word_of_the_relay_counts() -> None:
    events = [
        event("posted", "bytes committed"),
        event("relay_accepted", "the relay accepted it", 1_000),
        event("relay_said", "it would revert", 2_000),
        event("new_head", "block 5"),
    ]
    told = relay_verdict(events)
    assert told == ("it would revert (1970-01-01T00:00:02.000+00:00)")


def test_a_relay_that_said_nothing_yet() -> None:
    assert relay_verdict([event("posted", "bytes committed")]) is None
