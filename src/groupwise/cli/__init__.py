"""The command line: ``groupwise COMMAND``."""

from groupwise.cli.app import app

__all__ = ["app"]
