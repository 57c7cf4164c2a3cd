import numpy as np
import pytest

from groupwise.boosting import LinearLearner
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.transfer import (
    BalancedTransferClassifier,
)


def test_balanced_weighting_gives_up_a_harmful_source():
    data = make_shifted_domains(300, 60, angle=180, noise=0.0, random_state=0)
    clf = BalancedTransferClassifier(LinearLearner(), target_domain="target", random_state=0).fit(
        data.X, data.y, domains=data.domains
    )
    assert clf.selection_.chosen in ("target_only", "share 0.9")
    alike = make_shifted_domains(300, 20, angle=0, noise=0.2, random_state=0)
    clf.fit(alike.X, alike.y, domains=alike.domains)
    assert clf.selection_.chosen != "target_only"
    assert not clf.selection_.negative_transfer


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_balanced_weighting_does_not_go_by_the_order_of_rows(seed):
    data = make_shifted_domains(120, 24, angle=60, noise=0.2, random_state=seed)
    found = []
    for order in range(3):
        rows = np.random.RandomState(order).permutation(len(data.y))
        clf = BalancedTransferClassifier(
            LinearLearner(tol=1e-8), target_domain="target", random_state=0
        ).fit(data.X[rows], data.y[rows], domains=data.domains[rows])
        found.append((clf.selection_, clf.predict(data.X).tolist()))
    assert all(answer == found[0][1] for _, answer in found)
    for selection, _ in found[1:]:
        assert selection.chosen == found[0][0].chosen
        assert selection.errors == found[0][0].errors


@pytest.mark.long
def test_class_weights_reach_the_comparison():
    """Held-out fits see the labels themselves, by which a dict of weights goes."""
    data = make_shifted_domains(80, 30, noise=0.3, random_state=0)
    labels = np.array(["no", "yes"])[data.y]
    errors = [
        BalancedTransferClassifier(
            LinearLearner(), class_weight=weight, target_domain="target", random_state=0
        )
        .fit(data.X, labels, domains=data.domains)
        .selection_.errors
        for weight in (None, {"yes": 1000.0})
    ]
    assert errors[0] != errors[1]
