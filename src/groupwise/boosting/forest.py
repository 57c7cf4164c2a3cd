"""A forest for few rows."""

from sklearn.ensemble import ExtraTreesClassifier

__all__ = ["forest"]


def forest() -> ExtraTreesClassifier:
    """Extremely randomised trees as few rows want them: leaves of one row would be too sure.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel (2006). Extremely randomized trees. Machine Learning.

    Examples
    --------
    >>> forest().min_samples_leaf
    2
    """
    return ExtraTreesClassifier(100, min_samples_leaf=2)
