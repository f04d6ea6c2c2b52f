"""What the pages of the operator view read and do."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quietswap.rules.operator.operators import (
    Health,
)
from quietswap.rules.orders.stores import RateStore
from quietswap.service.operator.act import OperatorActions
from quietswap.service.operator.find_orders import FindOrders
from quietswap.service.operator.read_figures import ReadFigures
from quietswap.service.operator.sessions import OperatorSessions
from quietswap.service.orders.inclusion import GetInclusion
from quietswap.service.storage.audit_log import AuditStore
from quietswap.service.storage.operator_view import OperatorSearch
from quietswap.service.storage.paused_sources import PausedSourceStore


@dataclass(frozen=True, slots=True)
class OperatorParts:
    """The stores and the use cases of one process; those that read raise StoreUnavailable."""

    search: OperatorSearch
    sessions: OperatorSessions
    orders: FindOrders
    figures: ReadFigures
    actions: OperatorActions
    paused_sources: PausedSourceStore
    audit: AuditStore
    health: Callable[[], Awaitable[Health]]
    guesses: RateStore
    is_stopping: Callable[[], bool]
    inclusion: GetInclusion
