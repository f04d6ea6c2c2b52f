"""The states of a tracked order, as tables: its changes of state and the work of each state."""

from enum import Enum, StrEnum, auto


class WatchState(StrEnum):
    """What the tracker knows of one order, from its status and the canonical chain."""

    SEARCHED = "searched"
    """Open; no block holds it or used its nonce."""
    FOUND = "found"
    """Open; a block decides about it and is not deep enough yet."""
    ENDED = "ended"
    """Ended by a relay or by time, so it may still be mined; or its block is not read yet."""
    SPENT = "spent"
    """Ended; its nonce is used, and the block that used it is unknown."""
    CONTRADICTED = "contradicted"
    """Ended; a block that is not deep enough yet holds it."""
    SETTLED = "settled"
    """Ended, as the known block decided; the block is not final yet."""
    UNDONE = "undone"
    """Ended by a block that is no longer canonical: the status is to be taken back."""


_POSTED_AGAIN, _REMOVED = "posted again", "block removed"
WATCH_STEPS: dict[WatchState, dict[WatchState, str]] = {
    WatchState.SEARCHED: {
        WatchState.FOUND: "block found",
        WatchState.ENDED: "refused, expired or nonce used",
    },
    WatchState.FOUND: {
        WatchState.SEARCHED: _REMOVED,
        WatchState.SETTLED: "block deep enough",
        WatchState.CONTRADICTED: "refused",
    },
    WatchState.ENDED: {
        WatchState.CONTRADICTED: "own transaction in a block",
        WatchState.SETTLED: "its nonce used in a block",
        WatchState.SPENT: "nonce used, block unknown",
        WatchState.UNDONE: "its block or the use of its nonce is gone",
        WatchState.SEARCHED: _POSTED_AGAIN,
    },
    WatchState.SPENT: {
        WatchState.ENDED: "nonce free again",
        WatchState.UNDONE: "use of its nonce is gone",
        WatchState.CONTRADICTED: "own transaction in a block",
        WatchState.SETTLED: "its nonce used in a block",
        WatchState.SEARCHED: _POSTED_AGAIN,
    },
    WatchState.CONTRADICTED: {
        WatchState.SETTLED: "block deep enough",
        WatchState.ENDED: _REMOVED,
        WatchState.FOUND: _POSTED_AGAIN,
    },
    WatchState.SETTLED: {
        WatchState.UNDONE: "block removed, or another block found",
        WatchState.ENDED: "block removed that was not its verdict",
        WatchState.CONTRADICTED: "own transaction in a block",
        WatchState.FOUND: _POSTED_AGAIN,
    },
    WatchState.UNDONE: {
        WatchState.SEARCHED: "verdict taken back",
        WatchState.FOUND: "verdict taken back, other block found",
    },
}
"""Every change of state, by the evidence for it. A watch ends from any state but the open ones."""


class Queue(Enum):
    """The lists of `Watchlist` that a watch can be in."""

    RESEND = auto()
    EXPIRY = auto()
    UNSETTLED = auto()
    UNDONE = auto()
    CLOSING = auto()


QUEUES: dict[WatchState, frozenset[Queue]] = {
    WatchState.SEARCHED: frozenset({Queue.RESEND, Queue.EXPIRY}),
    WatchState.FOUND: frozenset({Queue.UNSETTLED, Queue.EXPIRY}),
    WatchState.ENDED: frozenset(),
    WatchState.SPENT: frozenset({Queue.CLOSING}),
    WatchState.CONTRADICTED: frozenset({Queue.UNSETTLED, Queue.CLOSING}),
    WatchState.SETTLED: frozenset({Queue.CLOSING}),
    WatchState.UNDONE: frozenset({Queue.UNDONE}),
}
"""The work that a state calls for: the tracker takes its work from these lists only."""
