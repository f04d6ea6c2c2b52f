"""The nodes as the page of the node shows them."""

from collections.abc import Sequence
from typing import NamedTuple

from quietswap.rules.operator.operators import (
    ProcessReport,
)
from quietswap.service.operator.value_text import age


def heights(reports: Sequence[ProcessReport], now_ms: int) -> list[tuple[str, str]]:
    """Return the block of each node by its latest reading in any process."""
    nodes = node_rows(reports)
    highest = max((node.height or 0 for node in nodes), default=0)
    latest = {node.name: node for node in sorted(nodes, key=lambda node: node.read_at_ms or 0)}
    return [
        (
            f"block of {name}",
            "no answer"
            if node.height is None
            else f"{node.height}, {highest - node.height} behind"
            f", read {age(now_ms - (node.read_at_ms or 0))} ago",
        )
        for name, node in latest.items()
    ]


class NodeRow(NamedTuple):
    """A node as a process saw it; times in Unix ms."""

    process_id: str
    name: str
    height: int | None
    read_at_ms: int | None
    lags: bool
    circuit: str


def node_rows(reports: Sequence[ProcessReport]) -> list[NodeRow]:
    return [
        NodeRow(
            one.process_id,
            str(node.get("name")),
            _whole(node.get("height")),
            _whole(node.get("readAt")),  # 0.3.0 reports none
            bool(node.get("lags")),
            str(node.get("circuit")),
        )
        for one in reports
        for node in one.state.get("nodes", ())
    ]


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
