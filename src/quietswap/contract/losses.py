"""The judgement of a quote: what it may lose, and what a person should be asked."""

from typing import Annotated

from quietswap.contract.base import Count, WireStruct, doc
from quietswap.domain.quote.loss import LossCause, LossLevel


class LossCauseEntry(WireStruct, frozen=True, kw_only=True):
    """One cause of a loss."""

    cause: Annotated[str, doc("Cause", "price_impact", enum=[one.value for one in LossCause])]
    bps: Annotated[
        Count | None, doc("Share of the value in basis points; null for an unknown price", 420)
    ]


class LossJudgement(WireStruct, frozen=True, kw_only=True):
    """What may be lost. Ask a person by `level` before anything is signed."""

    level: Annotated[
        str,
        doc(
            "Ask nothing, show a notice (from 1 %), ask for a confirmation in words (from 3 %, or"
            " if the price is unknown), or let the person type the loss (from 15 %)",
            "confirm",
            enum=[one.value for one in LossLevel],
        ),
    ]
    bps: Annotated[Count, doc("The greatest known share of the value in basis points", 420)]
    causes: Annotated[
        tuple[LossCauseEntry, ...], doc("Causes of 1 % or more, the greatest first; gas from 10 %")
    ]
