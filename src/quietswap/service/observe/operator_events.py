"""Events of the operator view. No function takes a secret, so none can leak one."""

from quietswap.service.observe.logs import log


def operator_logged_in(operator_id: str) -> None:
    log.info("operator_logged_in", operator=operator_id)


def operator_refused() -> None:
    """A login failed: the secret is wrong or revoked."""
    log.warning("operator_refused")


def operator_acted(operator_id: str, action: str) -> None:
    """An operator changed something. The details are in the audit log."""
    log.info("operator_acted", operator=operator_id, action=action)


def figures_unstored(reason: str) -> None:
    """The figures of the operator view are kept until the database answers."""
    log.warning("figures_unstored", reason=reason)


def pauses_unread(reason: str) -> None:
    """The pauses of sources could not be read. The last known ones stay."""
    log.warning("pauses_unread", reason=reason)
