"""CPU seconds of a process and all that it has started."""

import psutil


def cpu_seconds(pid: int) -> float:
    """User and system time so far, of processes that have ended, too. It counts in hundredths of a second."""
    process = psutil.Process(pid)
    return sum(map(_own, [process, *process.children(recursive=True)]))


def _own(process: psutil.Process) -> float:
    """Of a process and of its children that have ended."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:  # it has ended meanwhile
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
