import pytest

from groupwise.datasets.users import make_users


@pytest.fixture(scope="module")
def users():
    return make_users(20, n_rows=40, positive=0.3, random_state=0)
