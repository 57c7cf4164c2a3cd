"""Values with named parameters that a fit builds something from: trees, stumps, losses.

A recipe has scikit-learn's ``get_params`` and ``set_params``, so that ``clone`` copies it and a
search reaches into it (``trees__max_depth``), but it has no ``fit``.
"""

from sklearn.base import BaseEstimator

__all__ = ["Recipe"]


class Recipe(BaseEstimator):
    """Base of the recipes: the constructor stores its arguments under their own names.

    Recipes with equal parameters are equal.

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

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # its parameters may be set again
