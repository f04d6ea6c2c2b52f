"""What a quote may lose, as the domain judges it, to contract Structs."""

from quietswap.contract import losses as contract
from quietswap.domain.quote.loss import Loss


def loss_judgement(loss: Loss) -> contract.LossJudgement:
    """Return `loss` of a quote or price."""
    causes = (contract.LossCauseEntry(cause=one.cause.value, bps=one.bps) for one in loss.causes)
    return contract.LossJudgement(level=loss.level.value, bps=loss.bps, causes=tuple(causes))
