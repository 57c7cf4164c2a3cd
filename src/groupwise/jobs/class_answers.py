"""What is said and known of groups in classes: as results keep it, and as tables show it."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.base import Predictions
from groupwise.jobs.targets import Targets
from groupwise.metrics import constant_shares

__all__ = ["ClassAnswers"]


class ClassAnswers:
    """Of classes or shares; kinds that know numbers of groups write these anew."""

    group: str | None
    #: Whether labels belong to rows, so that single predictions can be judged.
    rows_labelled: ClassVar[bool] = False
    #: What is predicted of a group: probabilities, or shares.
    mark: ClassVar[str] = "p"

    def answer_group(self, predictions: Any, targets: Targets) -> NDArray[Any]:
        """What is predicted of each group: probabilities, or shares."""
        return predictions.proba_group

    def stored_answers(self, answer_group: NDArray[Any]) -> dict[str, Any]:
        """What a result keeps of it."""
        return {
            "predicted": answer_group.argmax(axis=1).tolist(),
            "proba": answer_group.round(5).tolist(),
        }

    def stored_truth(self, targets: Targets) -> dict[str, Any]:
        """What a result keeps of what is known of groups."""
        groups, y_group = targets.groups, targets.y[targets.groups.first_rows]
        if targets.y.ndim == 2:
            return {"shares": y_group.round(5).tolist()}
        one_label = bool((targets.y == y_group[groups.codes]).all())
        return {"truth": y_group.tolist()} if one_label else {}

    def stored_rows(self, predictions: Any, rows: NDArray[np.intp]) -> dict[str, Any]:
        """What a result keeps of some rows."""
        return {
            "predicted": predictions.code_row[rows].tolist(),
            "proba": predictions.proba_row[rows].max(axis=1).round(4).tolist(),
        }

    def row_columns(self, predictions: Any, classes: tuple[str, ...]) -> dict[str, Any]:
        """What a table of rows says."""
        columns: dict[str, Any] = {"predicted": np.array(classes)[predictions.code_row]}
        return columns | {f"p_{c}": predictions.proba_row[:, k] for k, c in enumerate(classes)}

    def group_columns(
        self, predictions: Any, classes: tuple[str, ...], frame: pd.DataFrame, name: str
    ) -> dict[str, Any]:
        """What a table of groups says; ``frame`` has their rows."""
        if self.rows_labelled:
            counted = (
                predictions.groups.sum((predictions.code_row == k).astype(float))
                for k in range(len(classes))
            )
            return {f"n_{c}": n.astype(int) for c, n in zip(classes, counted, strict=True)}
        columns: dict[str, Any] = {"predicted": np.array(classes)[predictions.code_group]}
        proba = predictions.proba_group
        return columns | {f"{self.mark}_{c}": proba[:, k] for k, c in enumerate(classes)}

    def constants(self, known: Targets) -> list[NDArray[Any]]:
        """Answers that could be given to everything: each class; of shares, the best ones."""
        if known.y.ndim == 2:
            return [constant_shares(known.y[known.groups.first_rows])]
        return list(np.eye(len(known.classes)))

    def constant_answer(self, constant: NDArray[Any], targets: Targets) -> Any:
        """Predictions that say the same of everything."""
        groups, n_classes = targets.groups, len(constant)
        proba_row = np.tile(constant, (groups.n_rows, 1))
        return Predictions(
            classes=np.arange(n_classes),
            groups=groups,
            score_row=proba_row[:, 1] - 0.5 if n_classes == 2 else proba_row,
            proba_row=proba_row,
            proba_group=np.tile(constant, (groups.n_groups, 1)),
            code_row=proba_row.argmax(axis=1),
        )
