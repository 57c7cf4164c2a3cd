"""Boosting with the hypotheses of other tasks (Yao and Doretto 2010)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from groupwise.boosting.confidence import row_loss
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.transfer.base import TransferRows
from groupwise.transfer.boosted import BoostedTransferClassifier
from groupwise.transfer.learners import get_transfer_learner
from groupwise.transfer.rounds import LEAST_ERROR, RoundPlan, boost

__all__ = ["TaskTrAdaBoostClassifier"]


class TaskTrAdaBoostClassifier(BoostedTransferClassifier):
    r"""TaskTrAdaBoost: AdaBoost on the target, with hypotheses that were learnt on the sources.

    Phase I runs AdaBoost on each source and keeps the hypotheses whose vote
    :math:`\alpha = \frac12\ln\frac{1-\epsilon}{\epsilon}` is above a threshold. Phase II boosts on
    the target's rows, but instead of learning it takes, in each round, the kept hypothesis with the
    lowest error there (reversed where that is lower), each at most once. The target's few rows only
    choose, so it overfits less and is quick: phase II makes no fit at all.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        As for :class:`TrAdaBoostClassifier`.
    n_estimators : int, default=100
        Rounds of either phase.
    min_vote : float, default=0.0
        The threshold :math:`\gamma` of phase I on :math:`\alpha`.
    target : domain id, default=None
        Every other domain is a source of its own.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : SumEnsemble
        One ensemble per source.
    n_hypotheses_ : int
        Kept by phase I.
    sources_ : ndarray of shape (n_rounds,)
        The source of each round's hypothesis.
    estimator_errors_ : ndarray of shape (n_rounds,)
    estimator_weights_ : ndarray of shape (n_rounds,)
        :math:`2 \alpha_t`, negative where a hypothesis votes reversed.

    Notes
    -----
    A hypothesis without error on the target ends phase II. Without source rows this is AdaBoost.
    Three classes or more: the votes of SAMME, nothing is reversed, and hypotheses with errors of
    :math:`1 - 1/K` and above are passed over.

    References
    ----------
    Y. Yao and G. Doretto (2010). Boosting for transfer learning with multiple sources. CVPR.
    Algorithms 2 and 3.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import TaskTrAdaBoostClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = TaskTrAdaBoostClassifier(n_estimators=20, target="target", random_state=0)
    >>> clf.fit(d.X, d.y, domains=d.domains).n_hypotheses_
    20
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        min_vote: float = 0.0,
        target: Any = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.min_vote = min_vote
        self.target = target
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        domains: ArrayLike | None = None,
        X_unlabeled: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> "TaskTrAdaBoostClassifier":
        """Fit to labelled rows of the target and of several sources.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        domains : array-like of shape (n_rows,), default=None
            The domain of each row. ``None``: all rows are of the target, which is AdaBoost.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            For a learner that uses them.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : TaskTrAdaBoostClassifier
        """
        self._check_choices()
        data = self._check_training(X, y, domains, sample_weight, X_unlabeled)
        rng = check_random_state(self.random_state)
        codes = np.unique(data.domains.codes[~data.is_target])
        if len(codes):
            phases = [_learn_on_source(self, data, code, rng) for code in codes]
            self._choose(data, phases, codes)
        else:
            phase = _learn_on_source(self, data, None, rng)
            self.n_hypotheses_ = len(phase.votes)
            self.sources_ = np.array([])
            self.estimator_errors_, self.estimator_weights_ = phase.errors, phase.votes
            self.ensemble_ = SumEnsemble([phase.run.combine(phase.votes.tolist())])
        return self

    def _choose(self, data: TransferRows, phases: "list[_PhaseOne]", codes: NDArray) -> None:
        """Phase II."""
        # SAMME's votes for K classes are 2 alpha + ln(K - 1)
        least = 2.0 * self.min_vote + np.log(len(data.classes) - 1)
        found = [
            (source, position)
            for source, phase in enumerate(phases)
            for position in np.flatnonzero(phase.votes > least)
        ]
        if not found:
            raise GroupDataError(
                f"no hypothesis of the {len(phases)} source domains has a vote above "
                f"min_vote={self.min_vote}"
            )
        loss = np.array([phases[source].loss[position] for source, position in found])
        weight = data.weight_row[data.is_target]
        picked, votes, errors = _pick(loss, weight, self.n_estimators, len(data.classes))
        if not picked:
            raise GroupDataError(
                "no hypothesis of the source domains is better than chance on the target's rows"
            )
        shares = [np.zeros(len(phase.votes)) for phase in phases]
        for position, vote in zip(picked, votes, strict=True):
            source, rank = found[position]
            shares[source][rank] = vote
        self.n_hypotheses_ = len(found)
        self.sources_ = data.domains.names[codes[[found[position][0] for position in picked]]]
        self.estimator_errors_, self.estimator_weights_ = np.array(errors), np.array(votes)
        self.ensemble_ = SumEnsemble(
            [
                phase.run.combine(share.tolist())
                for phase, share in zip(phases, shares, strict=True)
                if share.any()
            ]
        )


@dataclass(frozen=True)
class _PhaseOne:
    """AdaBoost on one source: the run, its votes and errors, and the losses on target rows."""

    run: Any
    votes: NDArray[np.float64]
    errors: NDArray[np.float64]
    loss: NDArray[np.float64]


def _learn_on_source(
    model: TaskTrAdaBoostClassifier, data: TransferRows, code: int | None, rng: Any
) -> _PhaseOne:
    """AdaBoost on the rows of one source; the target's rows are there to be predicted only."""
    in_source = data.is_target if code is None else data.domains.codes == code
    part = data.take(np.flatnonzero(in_source | data.is_target))
    learns = part.is_target if code is None else ~part.is_target
    n_classes = len(data.classes)
    learner = get_transfer_learner(model.estimator, n_classes, X_unlabeled=data.X_unlabeled)
    run = learner.bind(part.X).start(n_classes, rng, resample=False)
    rows = np.ones(len(part.y_row), dtype=bool)
    target_rows = np.flatnonzero(part.is_target)
    rounds = boost(
        run,
        part.y_row,
        rows,
        Groups(np.zeros(len(rows), dtype=int)),
        np.where(learns, part.weight_row, 0.0),
        RoundPlan(model.n_estimators, n_classes),
        watched=target_rows,
    )
    loss = np.array([row_loss(output, part.y_row[target_rows]) for output in rounds.watched])
    return _PhaseOne(run, rounds.votes, rounds.errors, loss)


def _pick(
    loss: NDArray[Any], weight: NDArray[Any], n_rounds: int, n_classes: int
) -> tuple[list[int], list[float], list[float]]:
    """Choose hypotheses (rows of ``loss``) one by one: positions, votes and errors."""
    log_weight = np.log(weight)
    left = np.ones(len(loss), dtype=bool)
    picked, votes, errors = [], [], []
    for _ in range(min(n_rounds, len(loss))):
        share = np.exp(log_weight - np.logaddexp.reduce(log_weight))
        error = loss @ share
        judged = np.minimum(error, 1.0 - error) if n_classes == 2 else error
        best = int(np.where(left, judged, np.inf).argmin())
        if judged[best] >= 1.0 - 1.0 / n_classes:
            break
        side = -1.0 if n_classes == 2 and error[best] > 0.5 else 1.0
        least = max(float(judged[best]), LEAST_ERROR)
        vote = float(np.log1p(-least) - np.log(least) + np.log(n_classes - 1))
        log_weight = log_weight + vote * (loss[best] if side > 0 else 1.0 - loss[best])
        left[best] = False
        picked.append(best)
        votes.append(side * vote)
        errors.append(float(judged[best]))
        if judged[best] == 0.0:
            break
    return picked, votes, errors


@dataclass(frozen=True)
class SumEnsemble:
    """The sum of several ensembles."""

    ensembles: list[Any]

    def score(self, X: Any) -> NDArray[Any]:
        return np.sum([ensemble.score(X) for ensemble in self.ensembles], axis=0)
