"""Values with named parameters that a fit builds something from: trees, stumps, losses.

A recipe has scikit-learn's ``get_params`` and ``set_params``, so that ``clone`` copies it and a
search reaches into it (``trees__max_depth``), but it is no estimator: it has no ``fit``.
"""

import inspect
from typing import Any, Self

__all__ = ["Recipe"]


class Recipe:
    """Base of the recipes: the constructor stores its arguments under their own names.

    Examples
    --------
    >>> class Slices(Recipe):
    ...     def __init__(self, width=1.0, n_slices=3):
    ...         self.width = width
    ...         self.n_slices = n_slices
    >>> Slices(n_slices=5)
    Slices(n_slices=5)
    >>> Slices(n_slices=5) == Slices().set_params(n_slices=5)
    True
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` also those of recipes inside, as ``name__inner``.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        params : dict
        """
        params = {name: getattr(self, name) for name in self._defaults()}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    inner = value.get_params()
                    params.update({f"{name}__{key}": item for key, item in inner.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of recipes inside as ``name__inner``.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self : Recipe
        """
        for key, value in params.items():
            name, inside, rest = key.partition("__")
            if name not in self._defaults():
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(self._defaults())}"
                )
            if inside:
                getattr(self, name).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # its parameters may be set again

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if not _same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))
