"""What a method of the command line is: an estimator, its settings and its limits."""

import importlib
import importlib.util
import inspect
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from groupwise.jobs.supervision import Supervision
from groupwise.tables import OptionError

__all__ = ["Method"]


@dataclass(frozen=True)
class Method:
    """A method for one kind of supervision.

    Attributes
    ----------
    kind, name : str
    path : str
        ``"module:Class"`` of the estimator.
    paper : str
        Where it comes from.
    params : dict
        Constructor parameters that make it this method; a value ``"module:Class"`` with a dot in
        the module is an object of that class.
    search : dict of str to tuple
        The small search of ``groupwise compare``, on whole groups of the training rows.
    max_rows : int, default=None
        Above this many rows the method is left out of comparisons.
    n_classes : int, default=None
        2 for a method of two classes.
    needs : str, default=None
        A module of an optional extra.
    explains : bool, default=True
        Whether its rows have a weight towards their group's label.
    """

    kind: str
    name: str
    path: str
    paper: str
    params: dict[str, Any] = field(default_factory=dict)
    search: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    max_rows: int | None = None
    n_classes: int | None = None
    needs: str | None = None
    explains: bool = True

    def reason_against(self, n_rows: int, n_classes: int) -> str | None:
        """Why it cannot be used here, or ``None``."""
        if self.needs is not None and importlib.util.find_spec(self.needs) is None:
            return f"needs {self.needs}, which is not installed"
        if self.n_classes is not None and n_classes > self.n_classes:
            return f"is for {self.n_classes} classes, there are {n_classes}"
        if self.max_rows is not None and n_rows > self.max_rows:
            return f"is for up to {self.max_rows:,} rows, there are {n_rows:,}"
        return None

    def build(self, supervision: Supervision, params: dict[str, Any], seed: int) -> Any:
        """An estimator for this job, not fitted.

        Raises
        ------
        TableError
            For a parameter the estimator does not have; the message names those it has.
        """
        cls = _find(self.path)
        known = inspect.signature(cls).parameters
        given = supervision.constructor() | {"random_state": seed}
        options = {name: value for name, value in given.items() if name in known}
        estimator = cls(**options | {k: _made(v) for k, v in self.params.items()})
        valid = estimator.get_params()
        for name in params:
            if name not in valid or name in ("group_column", "target_domain", "random_state"):
                allowed = sorted(p for p in valid if "__" not in p)
                raise OptionError(
                    f"{self.name} has no parameter {name!r} (--param); it has {', '.join(allowed)}"
                )
        return clone(estimator).set_params(**params)


def _find(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _made(value: Any) -> Any:
    return _find(value)() if isinstance(value, str) and ":" in value else value
