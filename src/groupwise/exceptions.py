"""Errors and warnings that callers may want to catch by name."""

__all__ = ["GroupDataError", "GroupsLostWarning"]


class GroupDataError(ValueError):
    """The rows, labels or group ids do not fit together; the message names the group."""


class GroupsLostWarning(UserWarning):
    """A model fitted without groups is asked about groups: the ids were probably lost on the way.

    scikit-learn's ``cross_validate(..., groups=g)`` hands ``groups`` to the splitter only, unless
    metadata routing is on. :func:`groupwise.model_selection.cross_validate` hands it to the
    estimator and the scorer as well.
    """
