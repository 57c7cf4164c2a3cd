import numpy as np
import pytest

from groupwise.auto import base
from groupwise.auto.candidates import Candidate
from groupwise.datasets import make_sessions
from groupwise.methods import Method

NAIVE = "groupwise.majority:NaiveGroupClassifier"
STATISTICS = "groupwise.majority:GroupStatisticsClassifier"
LOGISTIC = "sklearn.linear_model:LogisticRegression"
BAYES = "sklearn.naive_bayes:GaussianNB"
MEANS = "groupwise.proportions:GroupMeansClassifier"
THRESHOLD = "groupwise.measures:ThresholdTunedClassifier"
WEIGHTED = "groupwise.transfer:WeightedTransferClassifier"


CHEAP = {
    "proportions": [
        ("means-logistic", MEANS, {"estimator": LOGISTIC}),
        ("constant", MEANS, {"estimator": "sklearn.dummy:DummyClassifier"}),
    ],
    "measure": [
        ("boosted-rows", "groupwise.measures:BoostedRowsClassifier", {"n_estimators": 5}),
        ("threshold", THRESHOLD, {"estimator": LOGISTIC, "cv": 2}),
    ],
    "transfer": [
        ("target-only", WEIGHTED, {"estimator": LOGISTIC, "weighting": "target_only"}),
        ("equal-mass", WEIGHTED, {"estimator": LOGISTIC}),
        ("union", WEIGHTED, {"estimator": BAYES, "weighting": "union"}),
    ],
}
OF_LABELS = [
    ("naive-logistic", NAIVE, {"estimator": LOGISTIC}),
    ("means-logistic", STATISTICS, {"estimator": LOGISTIC, "statistics": ("mean",)}),
    ("naive-bayes", NAIVE, {"estimator": BAYES, "rule": "mean"}),
]


def cheap(kind):
    """Two tiers of candidates that fit in milliseconds."""
    methods = [
        Method(kind, name, path, "for tests", params, explains=path != STATISTICS)
        for name, path, params in CHEAP.get(kind, OF_LABELS)
    ]
    candidates = [Candidate(method, is_baseline=place == 0) for place, method in enumerate(methods)]
    return [candidates[:1], candidates[1:]], {"slow": "slow"}


@pytest.fixture(scope="session")
def data():
    """56 sessions of five rows."""
    rng = np.random.RandomState(3)
    y_row = rng.randint(2, size=300)
    X = rng.normal(size=(300, 4)) + 0.8 * y_row[:, None]
    return make_sessions(X, y_row, size=5, n_other=(0, 2), random_state=3)


@pytest.fixture
def cheap_candidates(monkeypatch):
    monkeypatch.setattr(base, "first_candidates", lambda kind, **_: cheap(kind))


@pytest.fixture
def add_candidates(monkeypatch):
    """Let more methods run after the cheap ones."""

    def add(*paths, **params):
        def candidates(kind, **_):
            tiers, left = cheap(kind)
            names = [path.partition(":")[2] for path in paths]
            pairs = zip(names, paths, strict=True)
            more = [Candidate(Method(kind, name, path, "", params)) for name, path in pairs]
            return [*tiers, more], left

        monkeypatch.setattr(base, "first_candidates", candidates)

    return add


@pytest.fixture
def noise():
    """Groups whose labels nothing tells."""
    rng = np.random.RandomState(7)
    groups = np.repeat(np.arange(120), 4)
    return rng.normal(size=(480, 3)), rng.randint(2, size=120)[groups], groups
