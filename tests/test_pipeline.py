"""A pipeline is asked as its last step is."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from groupwise import SBoostClassifier
from groupwise.io import load_model, save_model
from groupwise.pipeline import GroupPipeline, make_group_pipeline


@pytest.fixture
def fitted(sessions):
    pipe = make_group_pipeline(StandardScaler(), SBoostClassifier(n_estimators=3, random_state=0))
    return pipe.fit(sessions.X, sessions.y, groups=sessions.groups)


def test_the_same_as_the_steps_by_hand(fitted, sessions):
    X = StandardScaler().fit_transform(sessions.X)
    clf = SBoostClassifier(n_estimators=3, random_state=0)
    clf.fit(X, sessions.y, groups=sessions.groups)
    ids = {"groups": sessions.groups}
    assert (fitted.predict_groups(sessions.X, **ids) == clf.predict_groups(X, **ids)).all()
    np.testing.assert_array_equal(
        fitted.predict_groups_proba(sessions.X, **ids), clf.predict_groups_proba(X, **ids)
    )
    np.testing.assert_array_equal(
        fitted.predictions(sessions.X, **ids).proba_row, fitted.predict_proba(sessions.X)
    )
    assert fitted.score(sessions.X, sessions.y, **ids) == clf.score(X, sessions.y, **ids)


def test_clone_and_file(fitted, sessions, tmp_path):
    assert isinstance(clone(fitted), GroupPipeline)
    save_model(fitted, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    expected = fitted.predict_groups(sessions.X, groups=sessions.groups)
    assert (again.predict_groups(sessions.X, groups=sessions.groups) == expected).all()


def test_one_step_only(sessions):
    pipe = make_group_pipeline(SBoostClassifier(n_estimators=2, random_state=0))
    pipe.fit(sessions.X, sessions.y, groups=sessions.groups)
    n_groups = len(np.unique(sessions.groups))
    assert len(pipe.predict_groups(sessions.X, groups=sessions.groups)) == n_groups
