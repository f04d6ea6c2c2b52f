"""Use cases of the wallet RPC endpoint that answer what a test told them to."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from quietswap.rules.chain.rpc_wire import NodeAnswer, RpcCall
from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.clients import RpcTokenNotFound
from quietswap.rules.tx.address import Address
from quietswap.rules.wallet_rpc_token import UnmatchedPolicy, WalletRpcToken
from tests.stored_orders import NOW_MS

SECRET = "qr_" + "7b" * 32
WALLET = Address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
TOKEN = WalletRpcToken(
    id="rpc_1", client_id="client-1", name="a wallet", wallets=frozenset({WALLET}),
    unmatched="refuse", created_at_ms=NOW_MS, revoked_at_ms=None, key_id="key-1",
)  # fmt: skip
HASH = "0x" + "5c" * 32


class ScriptedWalletRpc:
    """`read` holds every call to the node, `sent` every transaction; `answers` are by method."""

    def __init__(self, failing: Callable[[], None]) -> None:
        self._failing = failing
        self.tokens: dict[str, WalletRpcToken] = {SECRET: TOKEN}
        self.own = [TOKEN]
        self.read: list[list[RpcCall]] = []
        self.sent: list[tuple[str, str]] = []
        self.answers: dict[str, NodeAnswer | Exception] = {}
        self.send: str | Exception = HASH
        self.pending: dict[str, Any] | None = None
        self.nonce: int | None = None

    def use_cases(self) -> dict[str, Any]:
        """Return the members of UseCases by name."""
        return {
            "rpc_tokens": SimpleNamespace(
                find=self._token, create=self._create, list=self._list, revoke=self._revoke
            ),
            "rpc_node": SimpleNamespace(read=self._read),
            "rpc_send": self._send,
            "rpc_orders": SimpleNamespace(pending=self._pending, next_nonce=self._nonce),
        }

    async def _create(
        self, key: ApiKey, name: str, wallets: Sequence[Address], unmatched: UnmatchedPolicy
    ) -> tuple[WalletRpcToken, str]:
        self._failing()
        made = replace(TOKEN, name=name, wallets=frozenset(wallets), unmatched=unmatched)
        return made, f"http://edge/rpc/{SECRET}"

    async def _list(self, key: ApiKey) -> Sequence[WalletRpcToken]:
        self._failing()
        return self.own

    async def _revoke(self, key: ApiKey, token_id: str) -> int:
        self._failing()
        if token_id not in {token.id for token in self.own}:
            raise RpcTokenNotFound
        return NOW_MS + 5

    async def _token(self, secret: str) -> WalletRpcToken | None:
        self._failing()
        return self.tokens.get(secret)

    async def _read(self, calls: Sequence[RpcCall], client_id: str) -> Sequence[NodeAnswer]:
        assert client_id in {token.client_id for token in self.tokens.values()}
        self.read.append(list(calls))
        return [self._answer(call.method) for call in calls]

    def _answer(self, method: str) -> NodeAnswer:
        answer = self.answers.get(method, b'"0x10"')
        if isinstance(answer, Exception):
            raise answer.with_traceback(None)
        return answer

    async def _send(self, token: WalletRpcToken, raw_hex: str) -> str:
        self.sent.append((token.id, raw_hex))
        if isinstance(self.send, Exception):
            raise self.send.with_traceback(None)
        return self.send

    async def _pending(self, token: WalletRpcToken, tx_hash: str) -> dict[str, Any] | None:
        return self.pending

    async def _nonce(self, token: WalletRpcToken, wallet: Address) -> int | None:
        return self.nonce
