"""Methods in order of their score, with what is known of the differences."""

import numpy as np
import pandas as pd

from groupwise.jobs.result import Result

__all__ = ["leaderboard"]


def leaderboard(result: Result) -> pd.DataFrame:
    """One line per method, the best first.

    Scores of groups that are right or wrong have Wilson's interval, others a bootstrap over groups;
    where users are kept whole, both are over users.
    Every method met the same folds, so a difference is taken group by group: its interval is a
    bootstrap over groups of the paired differences to the first method. The intervals speak of new
    groups like these; they do not speak of the luck of the training sets, but for that of a model
    that was made (:attr:`Result.with_luck`).

    Returns
    -------
    table : DataFrame
        Columns ``score``, ``low``, ``high``; ``difference`` to the best with ``difference_low`` and
        ``difference_high``; ``seconds_fit``, ``seconds_search`` and ``seconds_predict`` of a fold;
        ``memory_mib`` of the largest.
    """
    scores = result.unit_scores()
    found = {name: result.score_with_interval(name) for name in scores}
    order = sorted(found, key=lambda name: -found[name][0])
    lines = []
    for name in order:
        score, low, high = found[name]
        paired = (0.0, 0.0, 0.0)
        if name != order[0]:
            paired = result.paired_difference(name, scores[name], scores[order[0]])
        folds = result.methods[name]
        lines.append(
            {
                "method": name,
                "score": score,
                "low": low,
                "high": high,
                "difference": paired[0],
                "difference_low": paired[1],
                "difference_high": paired[2],
                "seconds_fit": float(np.mean([fold.seconds_fit for fold in folds])),
                "seconds_search": float(np.mean([fold.seconds_search for fold in folds])),
                "seconds_predict": float(np.mean([fold.seconds_predict for fold in folds])),
                "memory_mib": max(fold.memory_mib for fold in folds),
            }
        )
    return pd.DataFrame(lines).set_index("method")
