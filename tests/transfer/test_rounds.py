import numpy as np

from groupwise.transfer.rounds import first_of_best


def test_hypotheses_that_err_alike_go_by_their_order():
    assert first_of_best(np.array([0.3, 0.2 + 1e-15, 0.2, np.inf])) == 1
    assert first_of_best(np.array([0.3, 0.2])) == 1
