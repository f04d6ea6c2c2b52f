"""The active faults of the sandbox. A part has at most one."""

from collections.abc import Callable, Iterable

from quietswap.sandbox.faults.registry import Fault, members, parse

Listener = Callable[[str, Fault | None], None]


class ActiveFaults:
    """The active fault of each part. Listeners are called at each change, with None at the end."""

    def __init__(self, faults: Iterable[tuple[str, Fault]] = ()) -> None:
        self._faults = {part: fault for name, fault in faults for part in members(name)}
        self._listeners: list[Listener] = []

    def of(self, part: str) -> Fault | None:
        """Return the active fault of `part`."""
        return self._faults.get(part)

    def shows(self, part: str, kind: str) -> bool:
        """Whether the fault named `kind` is active for `part`."""
        return self.kind(part) == kind

    def kind(self, part: str) -> str:
        """Return the name of the active fault of `part`; empty without one."""
        fault = self._faults.get(part)
        return fault.kind if fault else ""

    def active(self) -> dict[str, str]:
        """Return part and spelling of every active fault."""
        return {part: str(fault) for part, fault in sorted(self._faults.items())}

    def put(self, part: str, text: str) -> Fault:
        """Replace the fault of a part or of every part of a group. Raises UnknownFault."""
        fault = parse(part, text)
        for member in members(part):
            self._faults[member] = fault
            self._notify(member, fault)
        return fault

    def clear(self, part: str) -> None:
        """End the fault of a part or of every part of a group. Raises UnknownFault."""
        for member in members(part):
            self._faults.pop(member, None)
            self._notify(member, None)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with part and fault at every later change."""
        self._listeners.append(listener)

    def _notify(self, part: str, fault: Fault | None) -> None:
        for listener in self._listeners:
            listener(part, fault)
