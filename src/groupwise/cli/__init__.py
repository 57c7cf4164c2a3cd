"""The command line: ``groupwise COMMAND``."""

import os
import signal
import sys
from contextlib import suppress
from typing import Any

__all__ = ["app", "main", "stop_at_once"]


def main() -> None:
    """Run the command that was typed.

    Libraries take a second to load, so Ctrl-C is met before they are.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored: nohup
        with suppress(ValueError):  # not in the main thread: signals are somebody else's business
            signal.signal(signal.SIGINT, stop_at_once)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # what the terminal cannot show
    from groupwise.cli.commands import app

    app()


def stop_at_once(_signum: int, _frame: object) -> None:
    """End the process with one line, where there is nothing to tidy up.

    An exception could get lost in an import or in typer, which ends in silence.
    """
    try:
        os.write(2, b"error: interrupted\n")
    finally:  # nobody may be there to read it
        os._exit(130)


def __getattr__(name: str) -> Any:
    """``app`` when it is asked for."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from groupwise.cli.commands import app

    return app
