"""For all tests."""

import signal

# A shell that starts a command in the background has it ignore SIGINT, and nohup SIGHUP, and so all that it starts:
# tests that send one would wait in vain. A handler of our own is not inherited; processes started from here get the
# default.
for name in ("SIGINT", "SIGHUP"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.default_int_handler)
