"""`quietswap revoke` at a terminal: what routers may move, prompt, progress."""

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from quietswap.cli.flows.signing import SigningFlow
from quietswap.cli.output import quote as output
from quietswap.cli.output.tokens import ETHER, DisplayToken
from quietswap.cli.signed_orders import SignedApprovals
from quietswap.client import ROUTERS, ClientError, node_calls
from quietswap.client.errors import AfterSubmission, OrderStillOpen, QuoteDeclined
from quietswap.client.flows import approvals
from quietswap.client.flows.polling import require_no_open_order
from quietswap.rules.amounts import UINT256_MAX


class RevokeRun(SigningFlow):
    """Sends one public transaction for each router that may move some of a token."""

    _token: DisplayToken

    def __call__(
        self, token: DisplayToken, routers: tuple[str, ...], max_fee_wei: int, *, replace: bool
    ) -> None:
        """Revoke; raises QuoteDeclined if a person says no."""
        self._token = token
        wallet = self._wallet_signer.wallet
        signed = (each.router for each in SignedApprovals().of(wallet, token.address))
        named = routers or tuple(sorted({*ROUTERS, *signed}, key=str.lower))
        self._client.run(approvals.require_mainnet())
        allowances = {router: self._allowance(router) for router in named}
        allowed = {router: amount for router, amount in allowances.items() if amount}
        if not allowed:
            self._context.say(f"No router may move {token.symbol} of {wallet}.")
        else:
            if not replace:
                following = self._client.node(node_calls.nonce(wallet))
                search = require_no_open_order(
                    wallet,
                    "a revocation",
                    self._client.polling,
                    has_node=True,
                    nonces=range(following, following + len(allowed)),
                )
                self._client.run(search)
            self._show(allowed)
            if not self._confirm("revoking"):
                raise QuoteDeclined("nothing was signed: declined")
            self._run(lambda: self._revoke_all(allowed, max_fee_wei))
        revoked = [
            {"router": router, "allowance": str(amount)} for router, amount in allowed.items()
        ]
        self._context.result({"ok": True, "token": token.address, "revoked": revoked})

    def _allowance(self, router: str) -> int:
        call = node_calls.allowance(self._token.address, self._wallet_signer.wallet, router)
        return self._client.node(call)

    def _show(self, held: dict[str, int]) -> None:
        screen, wallet = self._context.screen, self._wallet_signer.wallet
        cost = 0
        for router, amount in held.items():
            screen.print(output.facts(("revoke", f"{router} may move {self._amount(amount)}")))
            flow = approvals.approval_cost(
                token=self._token.address, router=router, amount=0, wallet=wallet, approval="exact"
            )
            cost += self._client.run(flow)
        self._print_signer()
        fee = f"at most {ETHER.at_most(cost, 6)} for {len(held)} public transaction"
        screen.print(output.facts(("fee", Text(fee + "s" * (len(held) > 1)))))
        screen.print()

    def _amount(self, amount: int) -> str:
        if amount > UINT256_MAX // 2:
            return f"any amount of {self._token.symbol}"
        return self._token.show(amount)

    def _revoke_all(self, routers: Iterable[str], max_fee_wei: int) -> None:
        for router in routers:
            self._revoke(router, max_fee_wei)

    def _revoke(self, router: str, max_fee_wei: int) -> None:
        data = node_calls.approval_data(router, 0)
        flow = approvals.send_public(
            "the revocation", to=self._token.address, data=data,
            wallet=self._wallet_signer.wallet, signer=self._signer, polling=self._client.polling,
            max_fee_wei=max_fee_wei, sent=self._print_sent,
        )  # fmt: skip
        receipt = self._client.run(flow)
        block = f"in block {receipt.block_number:,}"
        self._progress.say(f"revoked    {output.short(router)} may move nothing, {block}")

    def _print_sent(self, tx_hash: str, nonce: int) -> None:
        self._progress.say(f"sent with nonce {nonce}, in no block yet")
        self._progress.say(f"tx {tx_hash}")

    def _explain(self, error: ClientError) -> None:
        if isinstance(error, AfterSubmission | OrderStillOpen):
            self._leave("Not decided yet")

    def _leave(self, why: str, known: str | None = None) -> None:
        self._progress.stop()
        text = f"{why}: {known or 'what was signed may still be mined'}. To check and go on:"
        self._context.say(text, "yellow")
        self._print_signed()
        self._context.again("revoke", self._token.word)

    def _open_order(self) -> dict[str, Any]:
        return {"token": self._token.address}
