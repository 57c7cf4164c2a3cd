"""TrAdaBoost: boosting for transfer learning (Dai, Yang, Xue and Yu 2007)."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state

from groupwise.exceptions import GroupDataError
from groupwise.transfer.base import TransferRows
from groupwise.transfer.boosted import StagedTransferClassifier, initial_share, starting_weights
from groupwise.transfer.learners import get_transfer_learner, last_rounds
from groupwise.transfer.rounds import SOURCE_MASS, RoundPlan, Rounds, boost
from groupwise.transfer.safe import NegativeTransferWarning, select_safely
from groupwise.transfer.weighted import WeightedTransferClassifier, fit_once
from groupwise.transfer.weighting import get_weighting

__all__ = ["PerfectTargetWarning", "TrAdaBoostClassifier"]


class PerfectTargetWarning(UserWarning):
    """No hypothesis of a run made an error on the target rows, so their weights never moved."""


class TrAdaBoostClassifier(StagedTransferClassifier):
    r"""TrAdaBoost: AdaBoost on the target's rows, with the source rows that agree with them.

    In each round a weak learner is fitted to the rows of all domains with weights w, giving
    :math:`h_t`. With the loss :math:`\ell_i = |h_t(x_i) - c(x_i)|`, the error on the target's rows
    :math:`\epsilon_t = \sum_{target} w_i \ell_i / \sum_{target} w_i`,
    :math:`\beta_t = \epsilon_t / (1 - \epsilon_t)` and
    :math:`\beta = 1/(1 + \sqrt{2 \ln n / N})` for n source rows and N rounds,

    .. math:: w_i \leftarrow w_i \beta^{\ell_i} \text{ (source)}, \qquad
              w_i \leftarrow w_i \beta_t^{-\ell_i} \text{ (target)}.

    A source row that is often misclassified loses its weight. The classifier is 1 where
    :math:`\prod_t \beta_t^{-h_t(x)} \ge \prod_t \beta_t^{-1/2}` over the rounds
    :math:`t = \lceil N/2 \rceil, \dots, N`. The default parameters are Algorithm 1 of the paper,
    to the letter; :meth:`fading` builds the variant we recommend.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        Any scikit-learn classifier that takes ``sample_weight``, or a weak learner:
        :class:`HistTrees`, :class:`LinearLearner`, :class:`TransductiveSVC`. ``None``: trees of
        depth 3 (histogram trees for two classes).
    n_estimators : int, default=100
        Number of rounds N.
    target : domain id, default=None
        The domain that counts. May be left out when there is only one.
    initial : {"uniform", "equal_mass"} or float, default="uniform"
        Initial weights, which the paper leaves to the user. ``"uniform"``: every row the same.
        ``"equal_mass"``: source and target have the same total. A number in (0, 1): the target's
        share of the total. All are multiplied by ``sample_weight``.
    hypotheses : {"hard", "confidence"}, default="hard"
        Values 0 and 1, or anything between "by confidence" (step 2 of the algorithm):
        ``predict_proba``, or the logistic function of ``decision_function``.
    vote : {"last_half", "all"}, default="last_half"
        The rounds that vote.
    source_mass : {"free", "kept", "dynamic"}, default="free"
        ``"free"``: as in the paper, where the source's share of the weight drifts. ``"kept"``: the
        source keeps its first share, only the weights inside it move. ``"dynamic"``: source weights
        grow as the target's total does, :math:`2 (1 - \epsilon_t)` for hard hypotheses (Al-Stouhi
        and Reddy 2011); the measured growth is used, as the formula is wrong at an error of 0.
    balance_classes : bool, default=False
        Show the learner weights scaled to the same total in every class: the paper's constraint for
        support vector machines.
    validation_fraction : float, default=None
        Hold out this share of the target's rows, and keep the number of rounds with the fewest
        errors on them (the smallest such number).
    safe : bool, default=False
        Compare with target-only, union and equal-mass fits of the same learner on held-out target
        rows (cross-validation over the target), and keep the best: see ``selection_``. Below 20
        target rows these errors are mostly chance, and the equal-mass fit is kept unless another is
        better by two standard errors. Where transfer loses to the target alone, a
        :class:`NegativeTransferWarning` says so.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : Ensemble
        The hypotheses that vote.
    rounds_ : Ensemble
        The hypotheses of all rounds.
    n_rounds_ : int
    estimator_errors_ : ndarray of shape (n_rounds,)
        :math:`\epsilon_t`.
    estimator_weights_ : ndarray of shape (n_rounds,)
        :math:`\ln(1/\beta_t)`, negative where a hypothesis votes reversed.
    source_beta_ : float
        :math:`\beta`.
    domain_names_ : ndarray of shape (n_domains,)
    domain_mass_ : ndarray of shape (n_rounds + 1, n_domains)
        Each domain's share of all weight, before the first and after every round.
    effective_source_rows_ : ndarray of shape (n_rounds + 1,)
        :math:`(\sum w_i)^2 / \sum w_i^2` over the source rows.
    row_weights_ : ndarray of shape (n_rows,)
        The weights after the last round, with sum 1 (rows of ``sample_weight`` 0 left out).
    target_error_bound_ : float
        Theorem 3 as it holds: a bound on the error on the target's training rows, weighted as they
        are when the vote begins. NaN for three classes or more.
    selection_ : TargetSelection
        Only with ``safe=True``: the held-out errors and the choice.

    Notes
    -----
    *An error of 0* counts as 1e-10. The target's weights then stay, and only misclassified source
    rows lose weight; if it happens in every round a :class:`PerfectTargetWarning` says so, since
    the run is then little more than one fit (``hypotheses="confidence"`` moves on). If no source
    row is wrong either, or there is none, the run ends. *An error above 1/2*, which the paper
    excludes: with two classes the hypothesis is reversed, with more the run ends (an error if that
    is the first round). *At 1/2* the round has no vote.

    Without source rows all rounds vote, and this is AdaBoost. Three classes or more: SAMME, with
    :math:`\ln(1/\beta_t) + \ln(K - 1)` for the vote and the target's weights, errors below
    :math:`1 - 1/K`, and for confidence-rated hypotheses the loss 1 - p(true class).

    References
    ----------
    W. Dai, Q. Yang, G.-R. Xue and Y. Yu (2007). Boosting for transfer learning. ICML. Algorithm 1.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import TrAdaBoostClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = TrAdaBoostClassifier(n_estimators=20, target="target", random_state=0)
    >>> clf.fit(d.X, d.y, domains=d.domains).domain_mass_.shape
    (21, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        target: Any = None,
        initial: str | float = "uniform",
        hypotheses: str = "hard",
        vote: str = "last_half",
        source_mass: str = "free",
        balance_classes: bool = False,
        validation_fraction: float | None = None,
        safe: bool = False,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.target = target
        self.initial = initial
        self.hypotheses = hypotheses
        self.vote = vote
        self.source_mass = source_mass
        self.balance_classes = balance_classes
        self.validation_fraction = validation_fraction
        self.safe = safe
        self.random_state = random_state

    @classmethod
    def fading(cls, estimator: Any = None, **parameters: Any) -> "TrAdaBoostClassifier":
        """The variant we recommend for learners that fit the target's few rows without error.

        Source and target start with equal mass; hypotheses are confidence-rated, so that weights
        move although no target row is misclassified; the source's mass fades from round to round;
        and all rounds vote, those that trust the source and those that do not. Parameters given by
        name replace these.
        """
        chosen = {"initial": "equal_mass", "hypotheses": "confidence", "vote": "all"}
        return cls(estimator, **{**chosen, **parameters})

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        domains: ArrayLike | None = None,
        X_unlabeled: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> "TrAdaBoostClassifier":
        """Fit to labelled rows of the target and of other domains.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        domains : array-like of shape (n_rows,), default=None
            The domain of each row; all that are not ``target`` are source. ``None``: all rows are
            of the target, which is AdaBoost.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            Rows of the target without labels, for a learner that uses them
            (:class:`TransductiveSVC`).
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : TrAdaBoostClassifier
        """
        self._check_parameters()
        data = self._check_training(X, y, domains, sample_weight, X_unlabeled)
        rng = check_random_state(self.random_state)
        self._boost(data, rng)
        if self.safe and data.n_source:
            self._keep_the_best(data, rng)
        return self

    def _check_parameters(self) -> None:
        self._check_choices(
            hypotheses=("hard", "confidence"), vote=("last_half", "all"), source_mass=SOURCE_MASS
        )
        initial_share(self.initial)
        share = self.validation_fraction
        if share is not None and not 0.0 < share < 1.0:
            raise ValueError(f"validation_fraction must be in (0, 1) or None, got {share!r}")

    def _boost(self, data: TransferRows, rng: np.random.RandomState) -> None:
        n_classes = len(data.classes)
        learner = get_transfer_learner(
            self.estimator,
            n_classes,
            confident=self.hypotheses == "confidence",
            X_unlabeled=data.X_unlabeled,
        )
        held_out = self._held_out(data, rng)
        weight_row = starting_weights(data, self.initial)
        weight_row[held_out] = 0.0
        run = learner.bind(data.X).start(n_classes, rng, resample=False)
        plan = RoundPlan(self.n_estimators, n_classes, self.source_mass, self.balance_classes)
        parts = (data.y_row, data.is_target, data.domains)
        rounds = boost(run, *parts, weight_row, plan, watched=held_out)
        if not len(rounds.votes):
            raise GroupDataError(
                "the first hypothesis is no better than chance on the target domain's rows; "
                "initial='equal_mass' gives them more weight"
            )
        self._half_votes = self.vote == "last_half" and data.n_source > 0
        self.n_rounds_ = len(rounds.votes)
        if len(held_out):
            self.n_rounds_ = rounds.best_length(data.y_row[held_out], self._votes_from)
        self._store(rounds, run, data)

    def _store(self, rounds: Rounds, run: Any, data: TransferRows) -> None:
        kept = self.n_rounds_
        self.estimator_weights_ = rounds.votes[:kept]
        self.estimator_errors_ = rounds.errors[:kept]
        self.source_beta_ = rounds.source_beta
        self.domain_names_ = data.domains.names
        self.domain_mass_ = rounds.domain_mass[: kept + 1]
        self.effective_source_rows_ = rounds.effective_source_rows[: kept + 1]
        self.row_weights_ = rounds.weight_row
        first = self._votes_from(kept)
        self.target_error_bound_ = (
            rounds.error_bound(first, kept) if len(data.classes) == 2 else float("nan")
        )
        self.rounds_ = run.combine(self.estimator_weights_.tolist())
        self.ensemble_ = last_rounds(self.rounds_, first)
        if kept > 1 and not self.estimator_errors_.any():
            warnings.warn(
                f"none of the {kept} hypotheses made an error on the target's rows: their weights "
                "never moved, only misclassified source rows lost some; hypotheses='confidence' "
                "or a weaker learner lets boosting work",
                PerfectTargetWarning,
                stacklevel=4,
            )

    def _held_out(self, data: TransferRows, rng: np.random.RandomState) -> NDArray[np.intp]:
        if self.validation_fraction is None:
            return np.empty(0, dtype=np.intp)
        rows = np.flatnonzero(data.is_target)
        split = StratifiedShuffleSplit(1, test_size=self.validation_fraction, random_state=rng)
        return rows[next(split.split(rows, data.y_row[rows]))[1]]

    def _keep_the_best(self, data: TransferRows, rng: np.random.RandomState) -> None:
        """Put the baseline in place of the vote where held-out target rows prefer it."""
        candidates: dict[str, Any] = {
            name: WeightedTransferClassifier(
                self.estimator,
                weighting=name,
                target=self.target,
                balance_classes=self.balance_classes,
                random_state=rng.randint(2**31 - 1),
            )
            for name in ("equal_mass", "union", "target_only")
        }
        own = clone(self).set_params(safe=False, random_state=rng.randint(2**31 - 1))
        everyone = {"tradaboost": own, **candidates}
        self.selection_ = select_safely(everyone, data, rng, start="equal_mass")
        if self.selection_.chosen == "tradaboost":
            return
        chosen = candidates[self.selection_.chosen]
        self.ensemble_ = fit_once(chosen, data, get_weighting(chosen.weighting).weigh(data))
        if self.selection_.negative_transfer:
            errors = {name: round(error, 3) for name, error in self.selection_.errors.items()}
            warnings.warn(
                "negative transfer: on held-out rows the target alone does best, so the source "
                f"rows are not used (errors {errors})",
                NegativeTransferWarning,
                stacklevel=3,
            )
