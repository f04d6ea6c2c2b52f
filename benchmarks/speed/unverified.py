"""quietswap with verification off, as no setting can: `python -m benchmarks.speed.unverified ...`.

The node is never asked to simulate, so every route is ranked by its promise.
"""

from quietswap.__main__ import main
from quietswap.service.node.simulation.simulator import SwapSimulator

if __name__ == "__main__":
    SwapSimulator.can_simulate = property(lambda _: False)  # type: ignore[assignment,method-assign]
    main()
