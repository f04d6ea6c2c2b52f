"""A typed client of the service, blocking and asynchronous.

    from eth_account import Account
    from quietswap.client import QuietswapClient, SwapRequest

    account = Account.from_key(key)
    with QuietswapClient(url, api_key, rpc_url=node) as client:
        result = client.swap(SwapRequest(WETH, USDC, 10**18, account.address), account)
        print(result.status.status, result.received)

Amounts are ints in smallest units; the ETH amounts of wraps are decimal strings. The signer is an
eth_account account, or a function that signs elsewhere. The service never receives a private key.
"""

from types import ModuleType
from typing import TYPE_CHECKING

from quietswap.client.client import AsyncQuietswapClient as AsyncQuietswapClient
from quietswap.client.client import QuietswapClient as QuietswapClient
from quietswap.client.errors import *  # noqa: F403  each exception
from quietswap.client.flows.approvals import ApprovalSent as ApprovalSent
from quietswap.client.flows.approvals import Approved as Approved
from quietswap.client.flows.cancel import CancelRequest as CancelRequest
from quietswap.client.flows.cancel import CancelResult as CancelResult
from quietswap.client.flows.ether_swap import TradeResult as TradeResult
from quietswap.client.flows.finality import OrderEnd as OrderEnd
from quietswap.client.flows.finality import OutcomeWatch as OutcomeWatch
from quietswap.client.flows.finality import SubmittedTransaction as SubmittedTransaction
from quietswap.client.flows.finality import TransactionOutcome as TransactionOutcome
from quietswap.client.flows.polling import PollingPolicy as PollingPolicy
from quietswap.client.flows.quote_checks import ROUTERS as ROUTERS
from quietswap.client.flows.quote_checks import Approval as Approval
from quietswap.client.flows.quote_checks import SwapRequest as SwapRequest
from quietswap.client.flows.simulation import SwapSimulation as SwapSimulation
from quietswap.client.flows.swap import SwapResult as SwapResult
from quietswap.client.flows.swap_plan import PlannedApproval as PlannedApproval
from quietswap.client.flows.swap_plan import SwapPlan as SwapPlan
from quietswap.client.flows.trade import Terms as Terms
from quietswap.client.flows.trade import TradeStep as TradeStep
from quietswap.client.flows.wrap import WrapRequest as WrapRequest
from quietswap.client.flows.wrap import WrapResult as WrapResult
from quietswap.client.node_calls import NodeReceipt as NodeReceipt
from quietswap.rules.contract.quotes import StreamedRoute as StreamedRoute
from quietswap.rules.safety.loss import Loss as Loss
from quietswap.rules.tokens.token import WETH as WETH

if not TYPE_CHECKING:  # a type checker follows the lines above
    __all__ = [
        name
        for name, value in dict(vars()).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and name not in ("ModuleType", "TYPE_CHECKING")
    ]
