"""TrAdaBoost: boosting for transfer learning (Dai, Yang, Xue and Yu 2007)."""

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state

from groupwise._typing import RandomState
from groupwise.boosting import Run, boost
from groupwise.boosting.votes import decide
from groupwise.exceptions import GroupDataError
from groupwise.inputs import (
    ClassWeight,
    DomainRows,
    check_choice,
    check_class_weight,
    check_flag,
    check_number,
)
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.content_order import target_by_content
from groupwise.transfer.learners import Learner, initial_share, starting_weights
from groupwise.transfer.rounds import SOURCE_MASS, Algorithm1, LastHalf, RoundPlan, first_voter
from groupwise.transfer.staged import StagedTransferMixin

__all__ = ["PerfectTargetWarning", "TrAdaBoostClassifier", "WorseThanGuessingWarning"]


class PerfectTargetWarning(UserWarning):
    """No hypothesis of a run made an error on the target rows, so their weights never moved."""


class WorseThanGuessingWarning(UserWarning):
    """The vote errs on more of the target's own labelled rows than guessing would."""


class TrAdaBoostClassifier(StagedTransferMixin, BaseTransferClassifier):
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
    target_domain : domain id, default=None
        The domain that counts. May be left out when there is only one.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    initial : {"uniform", "equal_mass"} or float, default="uniform"
        Initial weights, which the paper leaves to the user. ``"uniform"``: every row the same.
        ``"equal_mass"``: source and target have the same total. A number in (0, 1): the target's
        share of the total. All are multiplied by ``sample_weight``.
    hypotheses : {"hard", "soft"}, default="hard"
        Values 0 and 1, or anything between "by confidence" (step 2 of the algorithm):
        ``predict_proba``, or the logistic function of ``decision_function``.
    vote : {"last_half", "all"}, default="last_half"
        The rounds that vote.
    source_mass : {"free", "kept", "dynamic"}, default="free"
        ``"free"``: as in the paper, where the source's share of the weight drifts. ``"kept"``: the
        source keeps its first share, only the weights inside it move. ``"dynamic"``: source weights
        grow as the target's total does, :math:`2 (1 - \epsilon_t)` for hard hypotheses (Al-Stouhi
        and Reddy 2011); the measured growth is used, as the formula is wrong at an error of 0.
    class_weight : dict, "balanced" or None, default=None
        What the learner is shown of the weights. ``"balanced"``: scaled to the same total in every
        class, the paper's constraint for support vector machines. A dict: times a weight per class.
    early_stopping : bool, default=False
        Hold out rows of the target, and keep the number of rounds with the fewest errors on them
        (the smallest such number).
    validation_fraction : float, default=0.2
        Share of the target's rows to hold out.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : Ensemble
        The weighted hypotheses; :class:`~groupwise.transfer.rounds.LastHalf` (``.rounds`` are all
        of them) where not all vote.
    n_iter_ : int
        Rounds kept: up to the last one that has a vote.
    estimator_errors_ : ndarray of shape (n_iter,)
        :math:`\epsilon_t`.
    estimator_weights_ : ndarray of shape (n_iter,)
        :math:`\ln(1/\beta_t)`, negative where a hypothesis votes reversed.
    source_beta_ : float
        :math:`\beta`.
    domain_names_ : ndarray of shape (n_domains,)
    history_ : dict of str to ndarray
        Before the first and after every round: ``"domain_mass"``, (n_iter + 1, n_domains), each
        domain's share of all weight; ``"effective_source_rows"``, (n_iter + 1,),
        :math:`(\sum w_i)^2 / \sum w_i^2` over the source rows.
    row_weights_ : ndarray of shape (n_rows,)
        The weights after the last round, with sum 1 (rows of ``sample_weight`` 0 left out).
    target_error_bound_ : float
        Theorem 3 as it holds: a bound on the error on the target's training rows, weighted as they
        are when the vote begins. NaN for three classes or more.

    Notes
    -----
    *An error of 0* counts as 1e-10. The target's weights then stay, and only misclassified source
    rows lose weight; if it happens in every round a :class:`PerfectTargetWarning` says so, since
    the run is then little more than one fit (``hypotheses="soft"`` moves on). If no source
    row is wrong either, or there is none, the run ends. *An error above 1/2*, which the paper
    excludes: with two classes the hypothesis is reversed, with more the run ends (an error if that
    is the first round). *An error of 1/2*, and any within 1e-9 of it so that no rounding decides,
    has no vote: target rows stay as they are, misclassified source rows lose weight, and the run
    goes on until the hypothesis changes. Rounds after the last vote are dropped.

    *A vote that errs on more of the target's labelled rows than guessing would* is said by a
    :class:`WorseThanGuessingWarning`: the last half of the rounds, taken alone, may undo what the
    first half has done. ``vote="all"`` then helps.

    Without source rows all rounds vote, and this is AdaBoost. Three classes or more: SAMME, with
    :math:`\ln(1/\beta_t) + \ln(K - 1)` for the vote and the target's weights, errors below
    :math:`1 - 1/K`, and for soft hypotheses the loss 1 - p(true class).

    References
    ----------
    W. Dai, Q. Yang, G.-R. Xue and Y. Yu (2007). Boosting for transfer learning. ICML. Algorithm 1.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import TrAdaBoostClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = TrAdaBoostClassifier(n_estimators=20, target_domain="target", random_state=0)
    >>> clf.fit(d.X, d.y, domains=d.domains).history_["domain_mass"].shape
    (21, 2)
    """

    def __init__(
        self,
        estimator: Learner = None,
        *,
        n_estimators: int = 100,
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        initial: str | float = "uniform",
        hypotheses: str = "hard",
        vote: str = "last_half",
        source_mass: str = "free",
        class_weight: ClassWeight = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.initial = initial
        self.hypotheses = hypotheses
        self.vote = vote
        self.source_mass = source_mass
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @classmethod
    def fading(cls, estimator: Learner = None, **parameters: Any) -> "TrAdaBoostClassifier":
        """The variant we recommend for learners that fit the target's few rows without error.

        Source and target start with equal mass; hypotheses are soft, so that weights
        move although no target row is misclassified; the source's mass fades from round to round;
        and all rounds vote, those that trust the source and those that do not. Parameters given by
        name replace these.
        """
        chosen: dict[str, Any] = {"initial": "equal_mass", "hypotheses": "soft", "vote": "all"}
        return cls(estimator, **{**chosen, **parameters})

    def _learn(self, data: DomainRows) -> None:
        rng = check_random_state(self.random_state)
        n_classes = len(data.classes)
        learner = self._learner(data, self.estimator, hypotheses=self.hypotheses)
        held_out = self._held_out(data, rng)
        weight_row = starting_weights(data, self.initial)
        weight_row[held_out] = 0.0
        run = learner.bind(data.X).start(n_classes, rng, resample=False)
        plan = RoundPlan(self.n_estimators, data.classes, self.source_mass, self.class_weight)
        rounds = Algorithm1(
            data.y_row, data.is_target, data.domains, weight_row, plan, watched=held_out
        )
        boost(run, data.y_row, rounds, self.n_estimators)
        if not rounds.alphas:
            raise GroupDataError(
                "the first hypothesis is no better than guessing on the target domain's rows; "
                "initial='equal_mass' gives them more weight"
            )
        self._store(rounds, run, data, held_out)

    def _check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)
        initial_share(self.initial)
        check_choice("hypotheses", self.hypotheses, ("hard", "soft"))
        check_choice("vote", self.vote, ("last_half", "all"))
        check_choice("source_mass", self.source_mass, SOURCE_MASS)
        check_class_weight(self.class_weight)
        check_flag("early_stopping", self.early_stopping)
        check_number("validation_fraction", self.validation_fraction, "(0, 1)")

    def _held_out(self, data: DomainRows, rng: np.random.RandomState) -> NDArray[np.intp]:
        if not self.early_stopping:
            return np.empty(0, dtype=np.intp)
        rows = target_by_content(data)
        split = StratifiedShuffleSplit(1, test_size=self.validation_fraction, random_state=rng)
        return rows[next(split.split(rows, data.y_row[rows]))[1]]

    def _store(
        self, rounds: Algorithm1, run: Run, data: DomainRows, held_out: NDArray[np.intp]
    ) -> None:
        last_half = self.vote == "last_half" and data.n_source > 0
        kept = rounds.n_kept
        if len(held_out):
            kept = rounds.best_length(data.y_row[held_out], last_half=last_half)
        ensemble = run.combine(rounds.alphas[:kept])
        self.ensemble_ = LastHalf.of(ensemble, kept) if last_half else ensemble
        self.n_iter_ = kept
        self.estimator_weights_ = np.array(rounds.alphas[:kept])
        self.estimator_errors_ = rounds.history("error")[:kept]
        self.source_beta_ = rounds.source_beta
        self.domain_names_ = data.domains.names
        self.history_ = rounds.shares(kept)
        self.row_weights_ = rounds.weight
        first = first_voter(kept) if last_half else 0
        self.target_error_bound_ = (
            rounds.error_bound(first, kept) if len(data.classes) == 2 else float("nan")
        )
        if kept > 1 and not self.estimator_errors_.any():
            warnings.warn(
                f"none of the {kept} hypotheses made an error on the target's rows: their weights "
                "never moved, only misclassified source rows lost some; hypotheses='soft' "
                "or a weaker learner lets boosting work",
                PerfectTargetWarning,
                stacklevel=4,
            )
        self._say_if_worse_than_guessing(data)

    def _say_if_worse_than_guessing(self, data: DomainRows) -> None:
        rows = np.flatnonzero(data.is_target)
        wrong = decide(self.ensemble_.score(data.X[rows])) != data.y_row[rows]
        error = float(np.average(wrong, weights=data.weight_row[rows]))
        if error > 1.0 - 1.0 / len(data.classes):
            half = isinstance(self.ensemble_, LastHalf)
            warnings.warn(
                f"the vote of {'the last half of the' if half else 'all'} rounds errs on "
                f"{error:.2f} of the target's own labelled rows, more than guessing would; use "
                f"{'vote=' + repr('all') + ', ' if half else ''}TrAdaBoostClassifier.fading() or "
                "SafeTrAdaBoostClassifier, which compares with plain fits on held-out rows",
                WorseThanGuessingWarning,
                stacklevel=5,
            )
