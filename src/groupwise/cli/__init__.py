"""The command line: ``groupwise COMMAND``."""

import sys
from typing import Any

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that was typed.

    Libraries take a second to load, so Ctrl-C is met before they are.
    """
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # what the terminal cannot show
        from groupwise.cli.app import app

        app()
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(130)


def __getattr__(name: str) -> Any:
    """``app`` when it is asked for."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from groupwise.cli.app import app

    globals()["app"] = app  # over the module of the same name
    return app
