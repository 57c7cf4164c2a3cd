"""Types that several modules share."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array, sparray, spmatrix

    from groupwise.groups import Groups

__all__ = ["Ids", "MatrixLike", "RandomState", "Rows"]

#: What a caller passes as X.
MatrixLike: TypeAlias = "ArrayLike | spmatrix | sparray | pd.DataFrame"
#: Checked rows.
Rows: TypeAlias = "NDArray[Any] | csr_array"
#: What a caller passes as groups or domains.
Ids: TypeAlias = "ArrayLike | Groups | None"
RandomState: TypeAlias = "int | np.random.RandomState | None"
