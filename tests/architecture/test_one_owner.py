"""Who tells an end, who reads a local clock beside the chain's time, who knows a verdict by words.

Each search has a list of owners. A new place belongs into one of them, or has a reason of its own.
"""

import ast
import re
from collections.abc import Callable
from pathlib import Path

from tests.architecture.modules import functions, text_of

TYPESCRIPT = Path(__file__).parents[2] / "clients" / "typescript" / "src"

ENDS = {
    "client/flows/finality.py": "decides it, by the caller's own node",
    "client/flows/submission_outcome.py": "what an error after a signature means, by finality.py",
    "client/flows/cancel.py": "which of two transactions with one nonce, by finality.py",
    "client/flows/swap.py": "the result of a swap, by finality.py",
    "cli/output/order_end.py": "words, exit code and JSON of an OrderEnd",
    "client/flows/trade.py": "what the end of a recorded step means for the one after it",
}
TYPESCRIPT_ENDS = {
    "finality.ts", "order-end.ts", "cancel.ts", "cancel-result.ts", "swap.ts", "flow-errors.ts",
    "trade.ts",
}  # fmt: skip
REPORTED = {
    "client/flows/polling.py": "when polling may stop",
    "client/flows/finality.py": "compares the report with the node",
    "client/flows/cancel.py": "the report beside the receipt",
    "client/flows/submission_outcome.py": "the words of a report that the own node is ahead of",
    "cli/output/order_progress.py": "a line of progress, which names the service",
    "cli/flows/swap.py": "what Ctrl-C says",
    "cli/flows/signing.py": "which orders may use the nonce",
}
"""Modules that read whether the service calls an order final."""
BLOCK_TIMES = (
    "head.time", "tip.time", "settled.time", "block.time", "latest.time", "chain_clock.now_ms",
)  # fmt: skip
CLOCKS = {
    "_past": "safe_now_ms: the earlier of both",
    "expire": "safe_chain_s: no block is ahead of every clock",
    "_close": "safe_now_ms",
    "new_planned": "safe_now_ms: an order's time counts from the earlier of both",
    "_request": "deadline_base_s: blocks far ahead of the clock keep no swap executable",
    "_check_deadline": "no later than the next block may be",
    "_quote": "a fork by the block's time; the clock stamps the record",
    "_expiry_ms": "a watch ends by the chain's time alone",
    "_turn": "watches end by the chain's time, API keys by the clock",
    "usd": "the clock is the chain's; a feed has the time of its own block as well",
}
"""Functions of the service with both."""
WORDS = {
    "rules/chain/rpc_wire.py": "a node's error",
    "service/relays/classify_response.py": "a relay's answer",
    "service/node/rpc.py": "which of many errors speaks of the batch, for rpc_wire.py",
    "client/node_answers.py": "whether the caller's own node is busy: never a verdict",
    "client/transports.py": "what a certificate's fault is called",
}


def owners(holds: Callable[[ast.AST], bool], *rooms: str) -> set[str]:
    """Return the files with a function in which `holds` is true of some node."""
    return {file for file, _, nodes in functions(*rooms) if any(map(holds, nodes))}


def named(node: ast.AST) -> str:
    return text_of(node) if isinstance(node, ast.Attribute | ast.Name) else ""


def test_ends_are_told_by_their_owners() -> None:
    fates = {f"TransactionOutcome.{name}" for name in ("MINED", "REVERTED", "REPLACED")}
    tellers = owners(lambda node: named(node).removeprefix("finality.") in fates, "client/", "cli/")
    assert tellers | {"cli/output/order_end.py"} == set(ENDS)  # its table stands in no function
    makers = owners(
        lambda node: isinstance(node, ast.Call) and named(node.func).endswith("OrderEnd"),
        "client/", "cli/",
    )  # fmt: skip
    assert makers == {"client/flows/finality.py"}


def test_ends_are_told_by_the_same_modules_in_typescript() -> None:
    fate = re.compile(r'"(?:replaced|reverted)"|\bisFinal\b')
    found = {path.name for path in TYPESCRIPT.glob("*.ts") if fate.search(path.read_text("utf-8"))}
    assert found == TYPESCRIPT_ENDS


def test_what_the_service_reports_as_final_is_read_in_few_modules() -> None:
    def reads(node: ast.AST) -> bool:
        name = named(node)
        return name == "TERMINAL" or (name.endswith(".is_terminal") and "screen" not in name)

    assert owners(reads, "client/", "cli/") == set(REPORTED)


def test_a_local_clock_beside_the_time_of_the_chain_has_an_owner() -> None:
    def is_clock(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and named(node.func).endswith((".now_ms", "time.time"))

    def is_chain_time(node: ast.AST) -> bool:
        return named(node).endswith((*BLOCK_TIMES, "block_time"))

    found = {
        name
        for _, name, nodes in functions("service/", "client/", "rules/")
        if any(map(is_clock, nodes)) and any(map(is_chain_time, nodes))
    }
    assert found == set(CLOCKS)


def test_a_verdict_is_known_by_words_in_few_modules() -> None:
    def reads(node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and named(node.func).endswith("message.lower"):
            return True
        searched = isinstance(node, ast.Call) and named(node.func).endswith((".search", ".match"))
        if searched and any("message" in ast.unparse(each) for each in node.args):
            return True
        is_in = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In)
        return is_in and named(node.comparators[0]).endswith("message")

    readers = owners(reads, "service/", "client/", "cli/", "rules/")
    assert readers - {"service/server/openapi.py"} == set(WORDS)
