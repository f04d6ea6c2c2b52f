"""A service that speaks of another transaction: what the own node shows of the signed one."""

import pytest

from quietswap.client.errors import TransactionHashMismatch
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import FakeService
from tests.client.test_after_signing import Fate, mined, replaced, reverted, silent
from tests.client.test_swap_flow import REQUEST, approved
from tests.client.test_transaction_hash_mismatch import LIE, names_both

__all__ = ["approved"]


@pytest.mark.parametrize(
    ("fate", "name"),
    [
        (mined, "mined"),
        (reverted, "reverted"),
        (replaced, "replaced"),
        (silent, "open"),
    ],
)
@pytest.mark.parametrize("operation", ["swap", "wrap"])
def test_the_own_node_is_watched(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    fate: Fate,
    name: str,
    operation: str,
) -> None:
    fate(approved, service)
    service.lies["order" if operation == "swap" else "wrap order"] = LIE
    with pytest.raises(TransactionHashMismatch) as caught:
        do_with_node(operation, REQUEST if operation == "swap" else "2", ACCOUNT)
    names_both(caught.value, service)
    error = caught.value
    assert (error.tx_hash, error.nonce, error.fate) == (service.tx_hash, 7, name)
