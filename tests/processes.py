"""Child processes of a program under test.

`/proc/PID/task/PID/children` may miss a child while another one ends (proc(5)), so it is not used.
"""

import psutil


def children(pid: int) -> dict[int, str]:
    """Return the children of a process: command lines by process id."""
    found: dict[int, str] = {}
    for child in psutil.Process(pid).children():
        try:
            found[child.pid] = " ".join(child.cmdline())
        except psutil.NoSuchProcess:  # it ended meanwhile
            continue
    return found
