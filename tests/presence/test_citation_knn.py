"""Citation-kNN by hand."""

import numpy as np
import pytest

from groupwise.presence import (
    CitationKNNClassifier,
)


def test_citation_knn_by_hand():
    """Groups of one row on a line: 0 and 1 negative, 10 and 11 positive."""
    X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])
    model = CitationKNNClassifier(1, n_citers=1).fit(X, y, groups=np.arange(4))
    # 9.5: nearest 10 (+); 10 would cite it (0.5 < 1); 11 would not (1.5 > 1)
    np.testing.assert_allclose(model.decision_function([[9.5], [0.4]]), [1.0, -1.0])
    # 5.4: reference 1 (-), nobody cites
    assert model.decision_function([[5.4]])[0] == -1.0
    with pytest.raises(ValueError, match="not both 0"):
        CitationKNNClassifier(0, n_citers=0).fit(X, y, groups=np.arange(4))
