"""Names for what goes in and what comes out, for signatures."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix, sparray, spmatrix

if TYPE_CHECKING:
    from groupwise.groups import Groups

__all__ = ["Ids", "MatrixLike", "RandomState", "Rows"]

#: What a caller may pass as X.
MatrixLike: TypeAlias = ArrayLike | spmatrix | sparray | pd.DataFrame
#: Rows that have been checked: a table of floats, dense or in compressed rows.
Rows: TypeAlias = NDArray[Any] | csr_array | csr_matrix
#: What a caller may pass as ``random_state``.
RandomState: TypeAlias = int | np.random.RandomState | None
#: What a caller may pass as ``groups``.
Ids: TypeAlias = "ArrayLike | Groups | None"
