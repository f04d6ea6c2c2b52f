"""The swap that tests of the decoder write and read, and its tokens."""

from dataclasses import replace
from typing import Any

from quietswap.rules.safety import calldata
from quietswap.rules.safety.calldata import DecodedCalldata
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx import address as addresses
from tests.routers.router_calldata import ENCODERS, OTHER_METHODS, ROUTER_OF
from tests.vendors.router import Swap

USDC = addresses.Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
WALLET = addresses.Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
ETHER = addresses.Address("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")
SWAP = Swap(sell=WETH, buy=USDC, amount=10**18, minimum=2_985_000_000, recipient=WALLET)
ALL = {**ENCODERS, **OTHER_METHODS}


def decode(method: str, data: bytes) -> DecodedCalldata:
    return calldata.decode(ROUTER_OF[method], data, buy_token=USDC)


def read(method: str, **changes: Any) -> DecodedCalldata:
    return decode(method, ALL[method](replace(SWAP, **changes)))
