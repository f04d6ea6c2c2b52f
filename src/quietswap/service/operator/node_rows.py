"""The nodes as the page of the node shows them."""

from collections.abc import Sequence
from typing import NamedTuple

from quietswap.rules.operator.operators import ProcessReport


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
