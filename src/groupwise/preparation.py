"""What has to be done to a table's columns before an estimator sees them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import _safe_indexing, get_tags

from groupwise._typing import MatrixLike, Rows

__all__ = [
    "Preparation",
    "Prepared",
    "TextEncoder",
    "Unprepared",
    "encode_texts",
    "fit_preparation",
    "fit_texts",
    "learn_preparation",
    "needs_preparation",
    "prepare",
    "text_columns",
]

#: Features as an estimator takes them.
Prepared = Rows | pd.DataFrame
#: Columns of a DataFrame by name, or of an array by position.
Columns = Sequence[str] | Sequence[int]


def needs_preparation(X: Prepared, estimator: BaseEstimator) -> bool:
    """Whether the estimator takes no missing values, and the table can be prepared for it."""
    return not issparse(X) and not get_tags(estimator).input_tags.allow_nan


# Directions in the space of words that a column of text becomes.
_N_DIRECTIONS, _MAX_WORDS = 100, 50_000


def fit_texts(X: pd.DataFrame, texts: Sequence[str]) -> dict[str, Pipeline]:
    """Learn what makes numbers of columns of text.

    Words (runs of two to four letters, where most texts are a word or two) are counted, weighed by
    how rare they are (tf-idf), and the counts laid along the directions in which these texts differ
    most (a truncated singular value decomposition).

    Parameters
    ----------
    X : DataFrame
    texts : sequence of str
        Columns; missing texts are empty ones.

    Returns
    -------
    encoders : dict of str to Pipeline
        One for each column that holds any word.
    """
    encoders = {}
    for column in texts:
        words = _filled(X[column])
        if not words.str.contains(r"\w").any():
            continue
        short = words[words != ""].str.count(r"\S+").mean() < 3
        counted = TfidfVectorizer(max_features=_MAX_WORDS, sublinear_tf=True)
        if short:
            counted.set_params(analyzer="char_wb", ngram_range=(2, 4))
        else:
            counted.set_params(token_pattern=r"(?u)\b\w+\b")
        counts = counted.fit_transform(words)
        # numpy's numbers would be a file each of a model file
        counted.vocabulary_ = {word: int(place) for word, place in counted.vocabulary_.items()}
        n_directions = max(1, min(_N_DIRECTIONS, counts.shape[0] - 1, counts.shape[1] - 1))
        directions = TruncatedSVD(n_directions, random_state=0).fit(counts)
        encoders[column] = Pipeline([("words", counted), ("directions", directions)])
    return encoders


def text_columns(encoders: dict[str, Pipeline]) -> list[str]:
    """Names of the columns that texts become.

    Examples
    --------
    >>> table = pd.DataFrame({"note": ["a red door", "a blue door", "a red car"]})
    >>> text_columns(fit_texts(table, ["note"]))
    ['note [1]', 'note [2]']
    """
    return [
        f"{column} [{k + 1}]"
        for column, encoder in encoders.items()
        for k in range(len(encoder["directions"].components_))
    ]


def encode_texts(
    X: pd.DataFrame, texts: Sequence[str], encoders: dict[str, Pipeline]
) -> pd.DataFrame:
    """The table with numbers in the place of its texts."""
    if not len(texts):
        return X
    parts = [encoder.transform(_filled(X[column])) for column, encoder in encoders.items()]
    rest = X.drop(columns=list(texts))
    if not parts:
        return rest
    made = pd.DataFrame(np.hstack(parts), index=X.index, columns=text_columns(encoders))
    return pd.concat([made, rest], axis=1)


@dataclass(frozen=True)
class Preparation:
    """What makes of a table's features what an estimator takes.

    Attributes
    ----------
    columns : ColumnTransformer or None
        What makes numbers of all columns; ``None``: the estimator takes a table.
    categories : tuple of str
        Columns that then get the type of categories.
    texts : tuple of str
        Columns of text.
    encoders : dict of str to Pipeline
        What makes numbers of these, before anything else; see :func:`fit_texts`.
    """

    columns: ColumnTransformer | None
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    encoders: dict[str, Pipeline] = field(default_factory=dict)

    def transform(self, X: pd.DataFrame) -> Prepared:
        """What the estimator takes."""
        table = encode_texts(X, self.texts, self.encoders)
        return prepare(table, self.categories, self.columns)


def learn_preparation(
    X: pd.DataFrame,
    estimator: BaseEstimator,
    *,
    numbers: tuple[str, ...],
    categories: tuple[str, ...],
    texts: tuple[str, ...],
) -> tuple[Preparation, Prepared]:
    """The preparation of a table for an estimator, and what it makes of the table."""
    encoders = fit_texts(X, texts)
    table = encode_texts(X, texts, encoders)
    texts_made = text_columns(encoders)
    columns, prepared = fit_preparation(table, numbers, categories, estimator, texts_made)
    return Preparation(columns, categories, texts, encoders), prepared


class TextEncoder(TransformerMixin, BaseEstimator):
    """Numbers in the place of a table's texts, as a transformer.

    Parameters
    ----------
    texts : sequence of str
        Columns; see :func:`fit_texts`.
    categories : sequence of str, default=()
        Columns that get the type of categories.

    Attributes
    ----------
    encoders_ : dict of str to Pipeline
    """

    def __init__(self, texts: Sequence[str], categories: Sequence[str] = ()):
        self.texts = texts
        self.categories = categories

    def fit(self, X: pd.DataFrame, y: None = None) -> Self:
        """Learn the words of these rows."""
        self.encoders_ = fit_texts(X, self.texts)
        return self

    def transform(self, X: pd.DataFrame) -> Prepared:
        """The table with numbers in the place of its texts."""
        return prepare(encode_texts(X, self.texts, self.encoders_), self.categories, None)


@dataclass(frozen=True)
class Unprepared:
    """Rows before a preparation that is learned from rows, for whoever has folds of his own.

    Attributes
    ----------
    table : {array, sparse matrix, DataFrame} of shape (n_rows, n_columns)
        Of anything that the preparation takes: texts, for example.
    preparation : transformer
        A clone of it is fitted, to the training rows of each fold.
    """

    table: MatrixLike
    preparation: BaseEstimator

    def take(self, rows: NDArray[np.intp]) -> "Unprepared":
        """The same for some of the rows."""
        return replace(self, table=_safe_indexing(self.table, rows))

    def fold(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[Any, Any]:
        """Training and held-out rows, prepared by what the training rows tell."""
        parts = [_safe_indexing(self.table, rows) for rows in (train, test)]
        fitted = clone(self.preparation).fit(parts[0])
        return fitted.transform(parts[0]), fitted.transform(parts[1])


def _filled(texts: pd.Series) -> pd.Series:
    return texts.where(texts.notna(), "").astype(str)


def fit_preparation(
    X: Prepared,
    numbers: Columns,
    categories: Columns,
    estimator: BaseEstimator,
    texts: Columns = (),
) -> tuple[ColumnTransformer | None, Prepared]:
    """Learn what makes numbers of the features, where the estimator needs that, and make them.

    One that takes missing values (trees) gets the table: numbers as they are, and categories, which
    it splits on or spreads out itself. So does any estimator a sparse matrix. Any other gets
    numbers with the median in gaps (and a column that says so), scaled, and one column per
    category.

    Parameters
    ----------
    X : {array, sparse matrix, DataFrame} of shape (n_rows, n_features)
    numbers, categories : sequence of str or int
        Names of a DataFrame's columns, or positions.
    texts : sequence of str or int
        Numbers that were texts: they stay as they are.
    estimator : estimator
        Its tags say whether it takes missing values.

    Returns
    -------
    preparation : ColumnTransformer or None
        ``None``: the estimator takes the table.
    prepared : {array, sparse matrix, DataFrame}
        What :func:`prepare` makes of ``X``.
    """
    if not needs_preparation(X, estimator):
        return None, prepare(X, categories, None)
    steps: list[Any] = [
        ("numbers", _filled_and_scaled(), list(numbers)),
        ("categories", _one_column_each(), list(categories)),
        ("texts", "passthrough", list(texts)),
    ]
    used = [(name, step, _as_slice(columns)) for name, step, columns in steps if columns]
    fitted = ColumnTransformer(used, sparse_threshold=0.0)
    prepared = fitted.fit_transform(X)
    _call_it_median(fitted)
    return fitted, prepared


def _call_it_median(fitted: ColumnTransformer) -> None:
    """Let imputers have the strategy ``"median"``, whose numbers our own function has learned.

    The function is for learning alone, where it holds a fifth as much (:func:`_filled_and_scaled`);
    a fitted imputer only reads the numbers. With the name, a model file holds no function, and
    whoever looks at the imputer sees what it does.
    """
    for _, step, _ in (*fitted.transformers, *fitted.transformers_):
        if isinstance(step, Pipeline):
            step[0].set_params(strategy="median")


def _as_slice(columns: list[Any]) -> Any:
    """Positions that follow each other as a slice, which scikit-learn takes no copy of."""
    first, n_columns = columns[0], len(columns)
    if isinstance(first, str) or columns != list(range(first, first + n_columns)):
        return columns
    return slice(first, first + n_columns)


def prepare(X: Prepared, categories: Columns, preparation: ColumnTransformer | None) -> Prepared:
    """What the estimator takes; where it takes tables, category columns are of that type."""
    if preparation is not None:  # learned from a dense table
        table: Any = X
        return preparation.transform(table.toarray() if issparse(X) else table)
    if not len(categories):
        return X
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    return table.astype(dict.fromkeys(categories, "category"))


def _filled_and_scaled() -> Pipeline:
    # the same as strategy="median", a column at a time: that sorts all at once, with their places,
    # and holds five times the table
    fill = SimpleImputer(strategy=_median, add_indicator=True, keep_empty_features=True)
    return make_pipeline(fill, StandardScaler(copy=False))  # what was filled is a copy


def _median(values: NDArray[Any]) -> float:
    """Of one column; 0 of an empty one, as ``"median"`` has it."""
    return float(np.median(values)) if len(values) else 0.0


def _one_column_each() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=50, sparse_output=False
    )
