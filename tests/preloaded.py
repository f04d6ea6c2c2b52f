"""What the fork server of `tests.forked` has imported before it forks."""

import gc
import sys

import eth_account  # noqa: F401  0.4 s of CPU in each command that signs

import quietswap.cli.commands.cancel
import quietswap.cli.commands.history
import quietswap.cli.commands.keys
import quietswap.cli.commands.orders
import quietswap.cli.commands.sandbox
import quietswap.cli.commands.serve
import quietswap.cli.commands.swap
import quietswap.cli.commands.tokens
import quietswap.cli.commands.wrap
import quietswap.cli.flows.ether_swap
import quietswap.cli.flows.swap
import quietswap.cli.flows.wrap
import quietswap.cli.mcp.server
import quietswap.sandbox.stack
import quietswap.service.server.asgi
import quietswap.service.server.process
import quietswap.service.sources.kyberswap
import quietswap.service.sources.sushi
import quietswap.service.sources.velora
import quietswap.service.storage.sqlite  # noqa: F401

sys.setrecursionlimit(1_000)  # eth_account lifts it, and a service does not import that
gc.freeze()  # no collection in a child touches, and so copies, what the children share
