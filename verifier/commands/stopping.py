"""What ends a command from outside: a grader's `timeout`, a cancelled job, a closed terminal."""

from __future__ import annotations

import signal


def stop_as_ctrl_c_does() -> None:
    """Have SIGTERM and SIGHUP raise KeyboardInterrupt too, so that what ran is reported; what nohup ignores stays."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) != signal.SIG_IGN:
            signal.signal(getattr(signal, name), signal.default_int_handler)
