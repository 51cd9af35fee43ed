"""How long tests of the program wait: with sanitizers, and on an emulated processor, it takes its time and more memory than it needs."""
import os

SANITIZED = bool(os.environ.get("TILEWAVE_SANITIZED"))
PATIENCE = 10 if SANITIZED else 1  # times a limit of seconds
