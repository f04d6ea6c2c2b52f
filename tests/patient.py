"""The stores for tests: opened as the service does, but as patient as a busy machine needs."""

from functools import partial

from quietswap.service.storage import factory
from tests.waiting import WITHIN_S

open_storage = partial(factory.open_storage, patience_s=WITHIN_S, lock_patience_s=WITHIN_S)
open_database = partial(factory.open_database, patience_s=WITHIN_S)
