import numpy as np
import pytest

from groupwise.inputs import check_choice, check_flag, check_number


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.25), np.int64(1)])
def test_numbers_inside(value):
    check_number("share", value, "(0, 1]")


@pytest.mark.parametrize("value", [0, -1, 1.5, np.nan, np.inf, "1", None, True, [1], 1 + 0j])
def test_anything_else_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"share must be a number in \(0, 1\], got"):
        check_number("share", value, "(0, 1]")


def test_whole_numbers_and_none():
    check_number("n", 3, "[1, inf)", whole=True)
    check_number("n", None, "[1, inf)", whole=True, none=True)
    check_number("limit", np.inf, "[0, inf]")
    with pytest.raises(ValueError, match=r"n must be a whole number in .* or None, got 2\.0"):
        check_number("n", 2.0, "[1, inf)", whole=True, none=True)


def test_choices_and_flags():
    check_choice("rule", "mean", ("mean", "any"))
    check_choice("rule", None, ("mean", "any"), none=True)
    check_flag("resample", True)
    with pytest.raises(ValueError, match="rule must be one of 'mean', 'any', got 'best'"):
        check_choice("rule", "best", ("mean", "any"))
    with pytest.raises(ValueError, match="rule must be one of"):
        check_choice("rule", np.array(["mean"]), ("mean", "any"))
    with pytest.raises(ValueError, match="resample must be True or False, got 1"):
        check_flag("resample", 1)
