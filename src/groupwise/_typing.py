"""Names for what goes in and what comes out, for signatures."""

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix, sparray, spmatrix

from groupwise.groups import Groups

__all__ = ["Ids", "MatrixLike", "RandomState", "Rows"]

#: What a caller may pass as X.
MatrixLike: TypeAlias = ArrayLike | spmatrix | sparray | pd.DataFrame
#: What a caller may pass as groups or domains.
Ids: TypeAlias = ArrayLike | Groups | None
#: What a caller may pass as ``random_state``.
RandomState: TypeAlias = int | np.random.RandomState | None
#: Rows that have been checked: a table of floats, dense or in compressed rows.
Rows: TypeAlias = NDArray[Any] | csr_array | csr_matrix
