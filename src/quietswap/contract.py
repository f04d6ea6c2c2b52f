"""Public names of the bodies of requests and responses, for programs that use the client.

`quietswap.contract.orders` is `quietswap.rules.contract.orders`, and so on.
"""

import sys

from quietswap.rules.contract import orders, quotes

for _module in (orders, quotes):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
