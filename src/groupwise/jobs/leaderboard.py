"""Methods in order of their score, with what is known of the differences."""

import numpy as np
import pandas as pd

from groupwise.jobs.result import Result
from groupwise.metrics import bootstrap_interval

__all__ = ["leaderboard"]


def leaderboard(result: Result) -> pd.DataFrame:
    """One line per method, the best first.

    Every method met the same folds, so a difference is taken group by group: its interval is a
    bootstrap over groups of the paired differences to the first method. The intervals speak of new
    groups like these; they do not speak of the luck of the training sets.

    Returns
    -------
    table : DataFrame
        Columns ``score``, ``low``, ``high``; ``difference`` to the best with ``difference_low`` and
        ``difference_high``; ``seconds_fit``, ``seconds_search`` and ``seconds_predict`` of a fold;
        ``memory_mib`` of the largest.
    """
    scores = result.unit_scores()
    means = {name: float(np.nanmean(values)) for name, values in scores.items()}
    order = sorted(means, key=lambda name: -means[name])
    lines = []
    for name in order:
        values = scores[name].dropna()
        low, high = bootstrap_interval(values)
        difference = (scores[name] - scores[order[0]]).dropna()
        d_low, d_high = bootstrap_interval(difference)
        folds = result.methods[name]
        lines.append(
            {
                "method": name,
                "score": means[name],
                "low": low,
                "high": high,
                "difference": float(difference.mean()),
                "difference_low": d_low,
                "difference_high": d_high,
                "seconds_fit": float(np.mean([fold.seconds_fit for fold in folds])),
                "seconds_search": float(np.mean([fold.seconds_search for fold in folds])),
                "seconds_predict": float(np.mean([fold.seconds_predict for fold in folds])),
                "memory_mib": max(fold.memory_mib for fold in folds),
            }
        )
    return pd.DataFrame(lines).set_index("method")
