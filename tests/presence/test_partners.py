"""The comparison partners: values by hand, limit cases, agreement with plain formulas."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.svm import SVC

from groupwise import Groups
from groupwise.datasets import make_presence_bags
from groupwise.kernels import Kernel
from groupwise.kernels.sets import (
    hausdorff_distances,
    largest_similarity,
    mean_least_distances,
    set_kernel,
    set_norms,
)
from groupwise.presence import (
    APRClassifier,
    CitationKNNClassifier,
    DissimilarityClassifier,
    EMDDClassifier,
    FisherVectorClassifier,
    GroupVoteClassifier,
    MILESClassifier,
    MISVMClassifier,
    SetKernelClassifier,
)
from groupwise.presence.apr import _boxes_of_others, _discriminate, _expand
from groupwise.presence.em_dd import _loss
from groupwise.presence.fisher import fisher_vectors
from groupwise.presence.repeated_svm import make_repeated_svm

PARTNERS = [
    MISVMClassifier(),
    MISVMClassifier("witness"),
    MISVMClassifier("witness", kernel="linear"),
    SetKernelClassifier(width=1.0),
    SetKernelClassifier("statistic"),
    MILESClassifier(),
    CitationKNNClassifier(),
    DissimilarityClassifier(),
    FisherVectorClassifier(random_state=0),
    EMDDClassifier(random_state=0),
    APRClassifier(),
]
NAMES = [" ".join(repr(p).split()) for p in PARTNERS]


@pytest.fixture(scope="module")
def easy():
    """Positive groups hold one row near (3, 3); all other rows lie around the origin."""
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(40), 4)
    y = groups % 2
    X = rng.normal(scale=0.5, size=(160, 2))
    X[::4] += 3.0 * y[::4, None]
    return X, y, groups


@pytest.mark.parametrize("estimator", PARTNERS, ids=NAMES)
def test_easy_groups_are_told_apart(estimator, easy):
    X, y, groups = easy
    train = groups < 20
    model = estimator.fit(X[train], y[train], groups=groups[train])
    accuracy = model.score(X[~train], y[~train], groups=groups[~train])
    if isinstance(model, CitationKNNClassifier):
        return  # the nearest rows of any two groups lie around the origin
    assert accuracy >= (0.8 if isinstance(model, SetKernelClassifier | APRClassifier) else 0.95)


@pytest.mark.parametrize("estimator", PARTNERS, ids=NAMES)
def test_sparse_rows_are_the_same_rows(estimator, easy):
    X, y, groups = easy
    dense = estimator.fit(X, y, groups=groups).predict_groups_proba(X, groups=groups)
    sparse = estimator.fit(csr_array(X), y, groups=groups)
    np.testing.assert_allclose(
        sparse.predict_groups_proba(csr_array(X), groups=groups),
        dense,
        atol=1e-3,  # libsvm stops at 1e-3
    )


@pytest.mark.parametrize("estimator", PARTNERS, ids=NAMES)
def test_copies_constants_and_hopeless_groups(estimator):
    X = np.column_stack([np.repeat([0.0, 1.0, 2.0, 0.0], 3), np.ones(12)])
    y, groups = np.repeat([0, 0, 1, 1], 3), np.repeat([0, 1, 2, 3], 3)  # group 3 copies group 0
    proba = estimator.fit(X, y, groups=groups).predict_groups_proba(X, groups=groups)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba[0], proba[3])


def test_mean_least_distances_by_hand():
    X, Z = np.array([[0.0], [4.0], [1.0]]), np.array([[1.0], [6.0], [3.0], [0.0]])
    there, back = mean_least_distances(X, Groups([0, 0, 1]), Z, Groups(["b", "a", "b", "a"]))
    # a = {6, 0}, b = {1, 3}; 0 lies 0 from a and 1 from b, 4 lies 2 and 1, 1 lies 1 and 0
    np.testing.assert_allclose(there, [[1.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(back, [[1.0, 1.0], [3.0, 1.0]])


def test_mean_least_distances_in_blocks(monkeypatch):
    rng = np.random.RandomState(0)
    X, Z = rng.normal(size=(30, 3)), rng.normal(size=(40, 3))
    g, h = rng.randint(5, size=30), rng.randint(7, size=40)
    whole = mean_least_distances(X, Groups(g), Z, Groups(h))
    monkeypatch.setattr("groupwise.kernels.sets.BLOCK_BYTES", 8 * 30 * 9)
    for blocks, one in zip(mean_least_distances(X, Groups(g), Z, Groups(h)), whole, strict=True):
        np.testing.assert_allclose(blocks, one)


def test_groups_of_one_row_give_a_support_vector_machine():
    rng = np.random.RandomState(1)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X[:, 0] += y
    for variant in ("rows", "witness"):
        ours = MISVMClassifier(variant, C=2.0).fit(X, y)
        gamma = 0.5 / ours.plane_.kernel.sigma**2
        plain = SVC(C=2.0, gamma=gamma, class_weight="balanced").fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), plain.decision_function(X), atol=5e-3)
        assert ours.n_iter_ <= 2


def test_mi_svm_ends_where_labels_repeat(easy):
    X, y, groups = easy
    model = MISVMClassifier().fit(X, y, groups=groups)
    score = model.decision_function(X)
    best = Groups(groups).max(score)
    assert (best[1::2] > 0).all() and 1 < model.n_iter_ < 30
    labels = (score > 0) & (y == 1)
    assert labels.sum() == 20 and labels[::4][1::2].all()  # the shifted rows and no others


def test_set_kernels_are_sums_over_pairs():
    rng = np.random.RandomState(0)
    X, Z = rng.normal(size=(7, 2)), rng.normal(size=(5, 2))
    g, h = Groups([0, 1, 0, 2, 1, 1, 0]), Groups([1, 0, 1, 0, 0])
    for kernel in (Kernel("rbf", 0.8), Kernel("linear")):
        K, own = kernel(X, Z), kernel(X, X)
        expected = [
            [K[np.ix_(g.codes == a, h.codes == b)].mean() for b in range(2)] for a in range(3)
        ]
        np.testing.assert_allclose(set_kernel(kernel, X, g, Z, h), expected)
        norms = [np.sqrt(own[np.ix_(g.codes == a, g.codes == a)].mean()) for a in range(3)]
        np.testing.assert_allclose(set_norms(kernel, X, g), norms)
        largest = [K[g.codes == a].max(axis=0) for a in range(3)]
        np.testing.assert_allclose(largest_similarity(kernel, X, g, Z), largest)
    distance = np.sqrt(((X[:, None] - Z) ** 2).sum(axis=2))
    nearest = [
        [distance[np.ix_(g.codes == a, h.codes == b)].min() for b in range(2)] for a in range(3)
    ]
    np.testing.assert_allclose(hausdorff_distances(X, g, Z, h), nearest)


def test_citation_knn_by_hand():
    """Groups of one row on a line: 0 and 1 negative, 10 and 11 positive."""
    X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])
    model = CitationKNNClassifier(1, n_citers=1).fit(X, y)
    # 9.5: nearest 10 (+); 10 would cite it (0.5 < 1); 11 would not (1.5 > 1)
    np.testing.assert_allclose(model.decision_function([[9.5], [0.4]]), [1.0, -1.0])
    # 5.4: reference 1 (-), nobody cites
    assert model.decision_function([[5.4]])[0] == -1.0
    with pytest.raises(ValueError, match="not both 0"):
        CitationKNNClassifier(0, n_citers=0).fit(X, y)


def test_em_dd_gradient_and_target(easy):
    X, y, groups = easy
    rng = np.random.RandomState(0)
    positive = rng.uniform(size=12) < 0.5
    rows, theta = rng.normal(size=(12, 3)), rng.normal(size=6)
    error = check_grad(
        lambda t: _loss(t, rows, positive)[0], lambda t: _loss(t, rows, positive)[1], theta
    )
    assert error < 1e-4
    model = EMDDClassifier(8, random_state=0).fit(X, y, groups=groups)
    np.testing.assert_allclose(model.point_, [3.0, 3.0], atol=0.8)
    one = EMDDClassifier(1, random_state=0).fit(X, y, groups=groups)
    assert model.neg_log_likelihood_ <= one.neg_log_likelihood_


def test_rectangle_holds_a_row_of_every_positive_group_and_no_negative_one(easy):
    X, y, groups = easy
    model = APRClassifier().fit(X, y, groups=groups)
    score = model.decision_function(X)
    assert (Groups(groups).max(score)[1::2] > 0).all()
    assert (score[y == 0] <= 0).mean() > 0.98
    wide = APRClassifier(epsilon=1e-6).fit(X, y, groups=groups)
    assert (wide.lower_ <= model.lower_).all() and (wide.upper_ >= model.upper_).all()


def test_fisher_vectors_are_scaled_derivatives_of_the_density():
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(60, 2)), Groups(np.repeat([0, 1, 2], 20))
    mixture = GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    found = fisher_vectors(X, groups, mixture)

    def mean_log_density(weights, means, sds):
        part = norm.logpdf(X[:, None], means, sds).sum(axis=2) + np.log(weights)
        return groups.mean(np.logaddexp.reduce(part, axis=1))

    weights, means, sds = mixture.weights_, mixture.means_, np.sqrt(mixture.covariances_)
    step, at = 1e-6, 2
    for k in range(2):
        for d in range(2):
            move = np.zeros((2, 2))
            move[k, d] = step
            by_mean = mean_log_density(weights, means + move, sds)
            by_mean -= mean_log_density(weights, means - move, sds)
            by_sd = mean_log_density(weights, means, sds + move)
            by_sd -= mean_log_density(weights, means, sds - move)
            scale = sds[k, d] / np.sqrt(weights[k]) / (2 * step)
            np.testing.assert_allclose(found[:, at + d], by_mean * scale, atol=1e-6)
            np.testing.assert_allclose(found[:, at + 2 + d], by_sd * scale / np.sqrt(2), atol=1e-6)
        at += 4
    # weights that sum to one: the derivative along the softmax of log-weights
    up = weights * np.exp([step, 0.0])
    down = weights * np.exp([-step, 0.0])
    change = mean_log_density(up / up.sum(), means, sds) - mean_log_density(
        down / down.sum(), means, sds
    )
    scaled = change / (2 * step) / np.sqrt(weights[0])
    np.testing.assert_allclose(found[:, 0], scaled, atol=1e-6)


def test_fisher_vectors_of_constant_and_few_rows():
    X = np.ones((6, 3))
    y = groups = np.array([0, 0, 1, 1, 2, 2])
    clf = FisherVectorClassifier(4).fit(X, (y == 1).astype(int), groups=groups)
    assert clf.mixture_.n_components == 1
    assert np.isfinite(clf.predict_groups_proba(X, groups=groups)).all()


@pytest.mark.parametrize("balanced", [False, True])
def test_copies_of_rows_are_weights(balanced):
    """Equal rows, some with both labels: the machine of all rows one by one."""
    rng = np.random.RandomState(0)
    X = rng.randint(0, 3, size=(200, 2)).astype(float)
    target = (X.sum(axis=1) + rng.normal(size=200) > 2).astype(int)
    machine = make_repeated_svm(X, C=1.0, kernel="rbf", width=1.0, n_components=None, rng=0)
    assert machine.X.shape == (9, 2)
    weight = (100 / np.bincount(target))[target] if balanced else np.ones(200)
    plane, score = machine.fit(np.arange(200), target, weight)
    gamma = 0.5 / machine.kernel.sigma**2
    plain = SVC(C=1.0, gamma=gamma, tol=1e-6).fit(X, target, sample_weight=weight)
    np.testing.assert_allclose(score, plain.decision_function(X), atol=5e-3)
    np.testing.assert_allclose(plane.score(X), score, atol=1e-12)


def test_strong_exclusion_by_hand():
    """Feature 0 excludes all, but by little; 1 and 2 by much; the last row only by a little."""
    low, high = np.zeros(3), np.ones(3)
    negative = np.array([[1.1, 3.0, 0.5], [1.1, 3.0, 0.5], [1.1, 0.5, -2.0], [1.3, 0.5, 1.2]])
    assert _discriminate(negative, low, high, 1.0).tolist() == [0, 1, 2]
    assert _discriminate(negative, low, high, 0.0).tolist() == [0]
    inside = np.full((1, 3), 0.5)  # nothing excludes it: it does not keep the others waiting
    assert _discriminate(np.vstack([negative, inside]), low, high, 0.0).tolist() == [0]


def test_expanded_sides_leave_out_epsilon():
    rows = np.random.RandomState(0).normal(size=(30, 2))
    low, high = rows.min(axis=0), rows.max(axis=0)
    lower, upper = _expand(rows, low, high, tau=0.99, epsilon=0.02)
    width = (high - low) / 2 / norm.ppf(0.995)
    np.testing.assert_allclose(norm.cdf(lower, rows, width).mean(axis=0), 0.01, rtol=1e-6)
    np.testing.assert_allclose(norm.sf(upper, rows, width).mean(axis=0), 0.01, rtol=1e-6)


def test_boxes_of_others():
    X = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, 4.0], [9.0, 9.0]])
    chosen = np.array([0, 1, 2, -1])
    low, high = _boxes_of_others(X, chosen)
    for group in range(4):
        others = X[[row for at, row in enumerate(chosen) if row >= 0 and at != group]]
        assert np.array_equal(low[group], others.min(axis=0))
        assert np.array_equal(high[group], others.max(axis=0))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (MISVMClassifier("bag"), "variant must be"),
        (MISVMClassifier(C=0.0), "C must be"),
        (MISVMClassifier(max_iter=0), "max_iter must be"),
        (SetKernelClassifier("mean"), "kind must be"),
        (SetKernelClassifier(C=-1.0), "C must be"),
        (MILESClassifier(C=0.0), "C must be"),
        (DissimilarityClassifier(C=-1.0), "C must be"),
        (FisherVectorClassifier(0), "n_parts must be"),
        (FisherVectorClassifier(energy=0.0), "energy must be"),
        (FisherVectorClassifier(C=0.0), "C must be"),
        (MILESClassifier(n_rows=0), "n_rows must be"),
        (EMDDClassifier(0), "n_restarts must be"),
        (APRClassifier(tau=1.0), "tau must be"),
        (APRClassifier(max_iter=0), "max_iter must be"),
        (APRClassifier(margin=-1.0), "margin must be"),
    ],
)
def test_bad_parameters(estimator, message, easy):
    X, y, groups = easy
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y, groups=groups)


def test_landmarks_serve_many_rows():
    d = make_presence_bags(60, random_state=0)
    exact = MISVMClassifier().fit(d.X, d.y, groups=d.groups)
    near = MISVMClassifier(n_components=100, random_state=0).fit(d.X, d.y, groups=d.groups)
    agree = exact.predict_groups(d.X, groups=d.groups) == near.predict_groups(d.X, groups=d.groups)
    assert agree.mean() > 0.9


def test_a_vote_is_the_mean_of_its_members(easy):
    X, y, groups = easy
    members = [("a", MILESClassifier()), ("b", SetKernelClassifier(width=1.0))]
    vote = GroupVoteClassifier(members, scale=False).fit(X, y, groups=groups)
    alone = [
        clone(m).fit(X, y, groups=groups).predict_groups_proba(X, groups=groups) for _, m in members
    ]
    np.testing.assert_allclose(
        vote.predict_groups_proba(X, groups=groups), np.mean(alone, axis=0), atol=1e-12
    )
    scaled = GroupVoteClassifier(members).fit(X, y, groups=groups)
    again = GroupVoteClassifier(members).fit(X * [1.0, 100.0], y, groups=groups)
    np.testing.assert_allclose(
        scaled.predict_proba(X), again.predict_proba(X * [1.0, 100.0]), atol=1e-2
    )
    with pytest.raises(ValueError, match="at least one"):
        GroupVoteClassifier([]).fit(X, y, groups=groups)
