"""The rows of the clients in the table of checks, at a node of the caller's own."""

from dataclasses import replace
from typing import Any

import pytest

from quietswap.client.errors import ClientError
from quietswap.client.flows.cancel import CancelRequest
from quietswap.rules.orders import checks
from quietswap.rules.orders.checks import Check
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER, MINIMUM, WALLET, FakeService
from tests.client.test_cancel_flow import ORDER, CancelService
from tests.client.test_swap_flow import REQUEST
from tests.stored_orders import ROUTER

_STATES: dict[Check, dict[str, Any]] = {
    Check.NONCE: {"nonce": 8},
    Check.FUNDS: {"ether": 0, "balance": 0},
    Check.ALLOWANCE: {"allowances": {}},
    Check.TRIAL: {"refusal": "execution reverted", "trial_reverts": True},
}


@pytest.fixture
def service(request: pytest.FixtureRequest, node: FakeChain) -> FakeService:
    door = request.node.callspec.params["door"]
    kind = CancelService if door is checks.CLIENT_CANCEL else FakeService
    return kind(mines=node.mine, approvals=lambda: len(node.sent))


@pytest.mark.parametrize("check", _STATES)
@pytest.mark.parametrize("door", [checks.CLIENT_SWAP, checks.CLIENT_WRAP, checks.CLIENT_CANCEL])
def test_a_client_refuses_what_its_row_says(
    do_with_node: Do, service: FakeService, node: FakeChain, door: checks.Door, check: Check
) -> None:
    node.delivers, node.allowances = MINIMUM, {ROUTER.lower(): ETHER}
    for name, value in _STATES[check].items():
        setattr(node, name, value)
    calls = {
        "swap": lambda: do_with_node("swap", replace(REQUEST, approval="never"), ACCOUNT),
        "wrap": lambda: do_with_node("unwrap", "0.5", ACCOUNT, nonce=7),
        "cancel": lambda: do_with_node("cancel", CancelRequest(ORDER, WALLET, nonce=7), ACCOUNT),
    }
    if check not in door.refuses:
        calls[door.signs]()
        return
    with pytest.raises(ClientError):
        calls[door.signs]()
    assert not any("signedTransaction" in (each.body or {}) for each in service.asked)
