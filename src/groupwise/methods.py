"""The methods there are: what a method is, one entry for each, and which of them apply to a job."""

import importlib
import importlib.util
from dataclasses import dataclass, field
from typing import Any

from groupwise.tables import OptionError

__all__ = ["AUTO", "METHODS", "Method", "get_method", "methods_for"]

#: The name of the automatic choice among all others of a kind.
AUTO = "auto"

# Parameters that the table and its columns decide.
_OF_THE_JOB = ("domain_column", "group_column", "random_state", "target", "target_domain")
# Seconds that the automatic choice has on each fold of a comparison.
_AUTO_SECONDS = 30.0


@dataclass(frozen=True)
class Method:
    """A method for one kind of supervision.

    Attributes
    ----------
    kind, name : str
    path : str
        ``"module:Class"`` of the estimator.
    paper : str
        Where it comes from.
    params : dict
        Parameters that make it this method; a value ``"module:Class"`` with a dot in the module is
        an object of that class, of which ``name__parameter`` may set another.
    search : dict of str to tuple
        The small search of ``groupwise compare``, on whole groups of the training rows.
    max_rows : int, default=None
        Above this many rows the method is left out of comparisons.
    max_features : int, default=None
        Above this many columns the automatic choice leaves it out: it reads some of them, or makes
        many more.
    n_classes : int, default=None
        The most classes it takes; ``None``: any number.
    measures : frozenset of str, default=None
        The measures it can be trained for; ``None``: all.
    needs : str, default=None
        A module of an optional extra.
    explains : bool, default=True
        Whether its rows have a weight towards their group's label.
    uses_unlabelled : bool, default=False
        Whether it learns from rows without a label, too.
    takes_exposure : bool, default=False
        Whether rows may have an exposure.
    is_slow : bool, default=False
        Whether the automatic choice tries it last: it takes many times the time of the others.
    relative : tuple of str, default=()
        What it is told of how rows differ inside their group, besides their features
        (:class:`~groupwise.RelativeFeaturesClassifier`).
    """

    kind: str
    name: str
    path: str
    paper: str
    params: dict[str, Any] = field(default_factory=dict)
    search: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    max_rows: int | None = None
    max_features: int | None = None
    n_classes: int | None = None
    measures: frozenset[str] | None = None
    needs: str | None = None
    explains: bool = True
    uses_unlabelled: bool = False
    takes_exposure: bool = False
    is_slow: bool = False
    relative: tuple[str, ...] = ()

    def reason_against(
        self,
        n_rows: int,
        n_classes: int,
        measure: str | None = None,
        *,
        n_features: int = 0,
        exposure: bool = False,
    ) -> str | None:
        """Why it cannot be used here, or ``None``."""
        if self.needs is not None and importlib.util.find_spec(self.needs) is None:
            return f"needs {self.needs}, which is not installed"
        if exposure and not self.takes_exposure:
            return "takes no `exposure`"
        if self.n_classes is not None and n_classes > self.n_classes:
            return f"is for {self.n_classes} classes, there are {n_classes}"
        if self.measures is not None and measure is not None and measure not in self.measures:
            return f"is for the measures {', '.join(sorted(self.measures))}, not {measure}"
        if self.max_rows is not None and n_rows > self.max_rows:
            return f"is for up to {self.max_rows:,} rows, there are {n_rows:,}"
        if self.max_features is not None and n_features > self.max_features:
            return f"is for up to {self.max_features} columns, there are {n_features}"
        return None

    def build(self, fixed: dict[str, Any], params: dict[str, Any], seed: int) -> Any:
        """An estimator for this job, not fitted.

        Parameters
        ----------
        fixed : dict
            What the job decides (``measure``, ``target_domain``), for estimators that take it.
        params : dict
            What the caller chooses.
        seed : int

        Raises
        ------
        OptionError
            For a parameter the estimator does not have; the message names those it has.
        """
        estimator = self._estimator(fixed, params, seed)
        if not self.relative:
            return estimator
        return _load(_RELATIVE)(estimator, relative=self.relative)

    def parameters(self, params: dict[str, Any]) -> dict[str, Any]:
        """All its parameters, with those that the caller chooses."""
        return self._estimator({}, params, 0).get_params()

    def _estimator(self, fixed: dict[str, Any], params: dict[str, Any], seed: int) -> Any:
        """As the rows' features are, with nothing beside them."""
        own = {name: _made(value) for name, value in self.params.items()}
        inner = {name: value for name, value in own.items() if "__" in name}
        outer = {name: value for name, value in own.items() if name not in inner}
        estimator = _load(self.path)(**outer).set_params(**inner)
        valid = estimator.get_params()
        for name, value in (fixed | {"random_state": seed}).items():
            if name in valid and name not in own:
                estimator.set_params(**{name: value})
        for name in params:
            if name not in valid or name in _OF_THE_JOB:
                allowed = sorted(p for p in valid if "__" not in p)
                raise OptionError(
                    f"{self.name} has no parameter {name!r} (`params`); it has {', '.join(allowed)}"
                )
        return estimator.set_params(**params)


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _made(value: object) -> Any:
    return _load(value)() if isinstance(value, str) and ":" in value else value


_NAIVE = "groupwise.majority:NaiveGroupClassifier"
_RELATIVE = "groupwise.relative:RelativeFeaturesClassifier"
_STATISTICS = "groupwise.majority:GroupStatisticsClassifier"
_BOOST = "groupwise.gbdt:GroupBoostClassifier"
_BOOST_NUMBERS = "groupwise.gbdt:GroupBoostRegressor"
_WEIGHTED = "groupwise.transfer:WeightedTransferClassifier"
_IN_CONTEXT = "groupwise.incontext:InContextClassifier"
_NETWORK = "a network trained on made-up tables (as Hollmann et al. 2023), for group labels"
_NETS = "groupwise.nets:GroupNetClassifier"
_NETS_NUMBERS = "groupwise.nets:GroupNetRegressor"
_BINNED = "networks on means and largest values, features over bins (Gorishniy et al. 2022)"
_LOGISTIC = "sklearn.linear_model:LogisticRegression"
_ROW_FOREST = "groupwise.boosting:forest"
_NAIVE_MEAN = "baseline: rows get their group's label, the mean of their probabilities decides"
_FOREST = "baseline: a forest on each group's mean, spread, least and largest value"
_IN_VIEW = " and on their differences from their group's mean (Mundlak 1978)"
_MOST_COLUMNS = 500  # in view of the group: there are as many again, and sparse ones become dense
_ROUNDS = {"n_estimators": (50, 150)}
_COSTS = {"C": (0.1, 1.0, 10.0)}
_MEAN_RULES = {"rule": ("mean", "score")}  # of probabilities, of log-odds
_ON_MEANS = "baseline: logistic regression on each group's mean"
_MEANS = {"estimator": _LOGISTIC, "statistics": ("mean",)}
_ROWS = {"estimator": "groupwise.boosting:BoostedTrees"}


def _boosting(loss: str) -> dict[str, str]:
    """Objects, so that ``--param loss__gamma=2`` and ``--param trees__max_depth=4`` reach them."""
    return {"loss": f"groupwise.losses:{loss}", "trees": "groupwise.boosting:HistTrees"}


def _network(loss: str) -> dict[str, Any]:
    """Five members; fewer epochs than the default, on tables that are compared."""
    return {"loss": f"groupwise.losses:{loss}", "pooling": None, "epochs": 150}


def _pooled_network(pooling: str) -> dict[str, Any]:
    """Five members, 30 epochs of ten steps.

    Compared with 150 epochs of one step on nine development sets (benchmarks/results/networks.md).
    """
    own = {"epochs": 30, "batch_groups": 0.1, "learning_rate": 5e-3}
    return _network("SessionSoftmaxLoss") | {"pooling": pooling} | own


def _binned_network() -> dict[str, Any]:
    """Features over bins take eight times the work per epoch, and two members of half the epochs.

    Chosen on fox, tiger, mutagenesis1 and corel_dogs (benchmarks/results/networks.md).
    """
    own = {"epochs": 75, "n_members": 2, "n_bins": 8, "learning_rate": 5e-3}
    return _network("SessionSoftmaxLoss") | {"pooling": "mean_max"} | own


# fmt: off
def _of_numbers(kind: str) -> tuple[Method, ...]:
    """Methods for numbers of groups, means and totals alike."""
    means = "groupwise.proportions:GroupMeansRegressor"
    return (
        Method(kind, "group-boost", _BOOST_NUMBERS,
               "squared error of the groups' means, on LightGBM", _boosting("GroupMeanLoss"),
               _ROUNDS),
        Method(kind, "means-ridge", means, "baseline: ridge regression on each group's mean"),
        Method(kind, "constant", means, "baseline: the same number for every row",
               {"estimator": "sklearn.dummy:DummyRegressor"}),
        Method(kind, "naive-boosting", "groupwise.proportions:NaiveGroupRegressor",
               "baseline: boosting; rows get their group's mean, the mean of their numbers counts"),
        Method(kind, "statistics", "groupwise.proportions:GroupStatisticsRegressor", _FOREST,
               explains=False),
        Method(kind, "manifold", "groupwise.proportions:ManifoldAOCRegressor",
               "AOC-manifold, Chen et al. 2009",
               search={"width": (0.5, 2.0), "gamma1": (0.01, 1.0)}, max_rows=3000),
        Method(kind, "network", _NETS_NUMBERS, "networks on squared error of the groups' means",
               {"epochs": 150}, needs="torch", max_rows=20_000, is_slow=True),
        Method(kind, "group-boost-absolute", _BOOST_NUMBERS,
               "absolute error of the groups' numbers, on LightGBM", _boosting("GroupQuantileLoss"),
               _ROUNDS),
    )


# The first that applies to the rows, classes and measure is taken when no method is named: one that
# takes missing values and categories as they are and grows with the table, where there is one.
METHODS: tuple[Method, ...] = (
    Method("majority", "group-boost", _BOOST, "gradient form of SBoost's loss, on LightGBM",
           _boosting("MajorityLoss"), _ROUNDS),
    Method("majority", "sboost", "groupwise.majority:SBoostClassifier", "Jin and Liu 2005",
           search={"gamma": (1.0, 4.0, 16.0)}),
    Method("majority", "group-boost-softmax", _BOOST, "cross-entropy form, on LightGBM",
           _boosting("SessionSoftmaxLoss"), _ROUNDS),
    Method("majority", "naive-boosting", _NAIVE, "the naive approach of Jin and Liu 2005",
           search={"rule": ("majority", "mean")}),
    Method("majority", "naive-relative", _NAIVE, "the naive approach, on rows" + _IN_VIEW,
           {"rule": "mean"}, max_features=_MOST_COLUMNS, relative=("difference",)),
    Method("majority", "naive-logistic", _NAIVE, "the naive approach of Jin and Liu 2005",
           {"estimator": _LOGISTIC}, {"estimator__C": (0.1, 1.0)}),
    Method("majority", "naive-forest", _NAIVE, "the same with extremely randomised trees",
           {"estimator": _ROW_FOREST, "rule": "mean"}, max_rows=5000),
    Method("majority", "statistics", _STATISTICS, _FOREST, explains=False),
    Method("majority", "in-context", _IN_CONTEXT, _NETWORK, max_rows=5000, max_features=48,
           uses_unlabelled=True, is_slow=True),
    Method("majority", "means-logistic", _STATISTICS, _ON_MEANS, _MEANS, explains=False),
    Method("majority", "fisher-vectors", "groupwise.presence:FisherVectorClassifier",
           "Wei, Wu and Zhou 2014", n_classes=2, max_rows=200_000, explains=False),
    Method("majority", "set-kernel", "groupwise.presence:SetKernelClassifier",
           "Gaertner et al. 2002", n_classes=2, max_rows=5000, explains=False),
    Method("majority", "statistic-kernel", "groupwise.presence:SetKernelClassifier",
           "Gaertner et al. 2002", {"kind": "statistic"}, n_classes=2, max_rows=5000,
           explains=False),
    Method("majority", "dissimilarity", "groupwise.presence:DissimilarityClassifier",
           "Cheplygina, Tax and Loog 2015", n_classes=2, max_rows=5000, explains=False),
    Method("majority", "network-bins", _NETS, _BINNED, _binned_network(), needs="torch",
           max_rows=20_000, is_slow=True),
    Method("majority", "network", _NETS, "networks on cross-entropy of rows and of mean scores",
           _network("SessionSoftmaxLoss"), needs="torch",
           max_rows=20_000, is_slow=True),
    Method("majority", "network-pooled", _NETS, "networks on means and largest values of vectors",
           _pooled_network("mean_max"), needs="torch",
           max_rows=20_000, is_slow=True),

    Method("presence", "noisy-or-boost", _BOOST, "Viola, Platt and Zhang 2006, on LightGBM",
           _boosting("NoisyOrLoss"), _ROUNDS, n_classes=2),
    Method("presence", "smooth-max-boost", _BOOST, "Ramon and De Raedt 2000, on LightGBM",
           _boosting("SmoothMaxLoss"), _ROUNDS, n_classes=2),
    Method("presence", "majority-boost", _BOOST, "as if most rows were of the group's class",
           _boosting("MajorityLoss"), _ROUNDS, n_classes=2),
    Method("presence", "lpboost", "groupwise.presence:LPBoostClassifier",
           "Demiriz, Bennett and Shawe-Taylor 2002", search={"nu": (0.05, 0.2)}, n_classes=2,
           max_rows=20_000),
    Method("presence", "dpboost", "groupwise.presence:DPBoostClassifier",
           "Andrews and Hofmann 2003", n_classes=2, max_rows=2000),
    Method("presence", "mi-svm", "groupwise.presence:MISVMClassifier",
           "Andrews, Tsochantaridis and Hofmann 2002", search=_COSTS, n_classes=2, max_rows=5000),
    Method("presence", "miles", "groupwise.presence:MILESClassifier", "Chen, Bi and Wang 2006",
           search=_COSTS, n_classes=2, max_rows=5000, explains=False),
    Method("presence", "dissimilarity", "groupwise.presence:DissimilarityClassifier",
           "Cheplygina, Tax and Loog 2015", search={"C": (0.1, 0.01, 1.0)}, n_classes=2,
           max_rows=5000, explains=False),
    Method("presence", "fisher-vectors", "groupwise.presence:FisherVectorClassifier",
           "Wei, Wu and Zhou 2014", search={"n_parts": (2, 1, 4), "C": (10.0, 1.0)}, n_classes=2,
           max_rows=200_000, explains=False),
    Method("presence", "set-kernel", "groupwise.presence:SetKernelClassifier",
           "Gaertner et al. 2002", search={"C": (1.0, 10.0, 100.0)}, n_classes=2, max_rows=5000,
           explains=False),
    Method("presence", "statistic-kernel", "groupwise.presence:SetKernelClassifier",
           "Gaertner et al. 2002", {"kind": "statistic"}, {"C": (1.0, 10.0, 100.0)}, n_classes=2,
           max_rows=5000, explains=False),
    Method("presence", "citation-knn", "groupwise.presence:CitationKNNClassifier",
           "Wang and Zucker 2000", n_classes=2, max_rows=5000, explains=False),
    Method("presence", "em-dd", "groupwise.presence:EMDDClassifier", "Zhang and Goldman 2001",
           n_classes=2, max_rows=5000),
    Method("presence", "rectangles", "groupwise.presence:APRClassifier",
           "Dietterich, Lathrop and Lozano-Perez 1997", n_classes=2, max_rows=20_000),
    Method("presence", "statistics", _STATISTICS, _FOREST, explains=False),
    Method("presence", "naive-boosting", _NAIVE, _NAIVE_MEAN, {"rule": "mean"}, _MEAN_RULES),
    Method("presence", "naive-logistic", _NAIVE, _NAIVE_MEAN,
           {"estimator": _LOGISTIC, "rule": "mean"}, {"estimator__C": (0.1, 1.0), **_MEAN_RULES}),
    Method("presence", "naive-boosting-any", _NAIVE,
           "baseline: rows get their group's label, one positive row makes a group positive",
           {"rule": "any"}, n_classes=2),
    Method("presence", "in-context", _IN_CONTEXT, _NETWORK, {"kind": "presence"}, max_rows=5000,
           max_features=48, uses_unlabelled=True, is_slow=True),
    Method("presence", "means-logistic", _STATISTICS, _ON_MEANS, _MEANS, explains=False),
    Method("presence", "network-bins", _NETS, _BINNED, _binned_network(), needs="torch",
           max_rows=20_000, is_slow=True),
    Method("presence", "network", _NETS, "networks on the noisy-or of rows",
           _network("NoisyOrLoss"), n_classes=2, needs="torch",
           max_rows=20_000, is_slow=True),
    Method("presence", "network-pooled", _NETS, "networks on means and largest values of vectors",
           _pooled_network("mean_max"), needs="torch",
           max_rows=20_000, is_slow=True),
    Method("presence", "network-attention", _NETS, "gated attention, Ilse et al. 2018",
           _pooled_network("attention"), needs="torch",
           max_rows=20_000, is_slow=True),

    Method("grade", "group-boost", _BOOST, "proportional odds (McCullagh 1980), on LightGBM",
           _boosting("OrdinalLoss"), _ROUNDS),
    Method("grade", "naive-boosting", _NAIVE, _NAIVE_MEAN, {"rule": "mean"}, _MEAN_RULES),
    Method("grade", "naive-logistic", _NAIVE, _NAIVE_MEAN,
           {"estimator": _LOGISTIC, "rule": "mean"}, {"estimator__C": (0.1, 1.0), **_MEAN_RULES}),
    Method("grade", "statistics", _STATISTICS, _FOREST, explains=False),
    Method("grade", "means-logistic", _STATISTICS, _ON_MEANS, _MEANS, explains=False),
    Method("grade", "network", _NETS, "networks on proportional odds of mean scores",
           _network("OrdinalLoss"), needs="torch", max_rows=20_000, is_slow=True),

    Method("proportions", "manifold", "groupwise.proportions:ManifoldAOCClassifierCV",
           "AOC-manifold, Chen et al. 2009; settings chosen inside, on whole groups",
           max_rows=3000),
    Method("proportions", "group-boost", _BOOST, "likelihood of the counts, on LightGBM",
           _boosting("CountLikelihoodLoss"), _ROUNDS),
    Method("proportions", "group-boost-squared", _BOOST, "squared error of shares, on LightGBM",
           _boosting("ShareLoss"), _ROUNDS),
    Method("reported", "group-boost", _BOOST, "likelihood of what was reported, on LightGBM",
           _boosting("ReportedCountLoss"), _ROUNDS),
    Method("reported", "network", _NETS, "networks on the likelihood of what was reported",
           _network("ReportedCountLoss"), needs="torch", max_rows=20_000),
    Method("proportions", "kernel-counts", "groupwise.proportions:KernelCountClassifier",
           "likelihood of the counts with a kernel; settings chosen inside, on whole groups",
           max_rows=1000),
    Method("proportions", "linear-counts", "groupwise.proportions:LinearCountClassifier",
           "likelihood of the counts, linear; penalty chosen inside, on whole groups"),
    Method("proportions", "decode-refit", "groupwise.proportions:DecodeRefitClassifier",
           "mean map, then labels with the counts and trees in turn (as Patrini et al. 2014)",
           is_slow=True),
    Method("proportions", "knn", "groupwise.proportions:KNNAOCClassifier",
           "AOC-kNN, Musicant, Christensen and Olson 2007", search={"n_neighbors": (5, 15)},
           max_rows=50_000),
    Method("proportions", "mean-map", "groupwise.proportions:MeanMapClassifier",
           "Quadrianto et al. 2009", search=_COSTS, max_rows=3000),
    Method("proportions", "laplacian-mean-map", "groupwise.proportions:LaplacianMeanMapClassifier",
           "Patrini et al. 2014", search=_COSTS, max_rows=3000),
    Method("proportions", "easy-llp", "groupwise.proportions:EasyLLPClassifier",
           "Busa-Fekete et al. 2023", search=_COSTS, max_rows=3000),
    Method("proportions", "svm", "groupwise.proportions:SVMAOCClassifier",
           "AOC-SVM, Musicant, Christensen and Olson 2007; Yu et al. 2013", search=_COSTS,
           max_rows=3000),
    Method("proportions", "mlp", "groupwise.proportions:MLPAOCClassifier",
           "AOC-ANN, Musicant, Christensen and Olson 2007", needs="torch", max_rows=100_000),
    Method("proportions", "network", _NETS, "networks on the likelihood of the counts",
           _network("CountLikelihoodLoss"), needs="torch",
           max_rows=20_000),
    Method("proportions", "in-context", _IN_CONTEXT, _NETWORK, {"kind": "proportions"},
           max_rows=5000, max_features=48, uses_unlabelled=True),
    Method("proportions", "naive-boosting", "groupwise.proportions:NaiveSharesClassifier",
           "baseline: boosting; rows get their group's shares, their probabilities' mean counts",
           max_rows=200_000),  # a line per row and class
    Method("proportions", "means-logistic", "groupwise.proportions:GroupMeansClassifier",
           _ON_MEANS),
    Method("proportions", "constant", "groupwise.proportions:GroupMeansClassifier",
           "baseline: the shares of all rows together, for every row",
           {"estimator": "sklearn.dummy:DummyClassifier"}),

    Method("measure", "expected-measure", "groupwise.measures:ExpectedMeasureClassifier",
           "boosting, then the decision with the best expected measure (Ye et al. 2012)",
           n_classes=2, measures=frozenset({"f1", "accuracy"})),
    Method("measure", "expected-logistic", "groupwise.measures:ExpectedMeasureClassifier",
           "the same decision on logistic regression", {"estimator": _LOGISTIC}, n_classes=2,
           measures=frozenset({"f1", "accuracy"})),
    Method("measure", "threshold", "groupwise.measures:ThresholdTunedClassifier",
           "boosting with a threshold tuned on whole groups", n_classes=2),
    Method("measure", "boosted-rows", "groupwise.measures:BoostedRowsClassifier",
           "baseline: gradient boosting on rows", search={"n_estimators": (100, 300)}),
    Method("measure", "boosted-differences", "groupwise.measures:BoostedRowsClassifier",
           "gradient boosting on rows" + _IN_VIEW, search={"n_estimators": (100, 300)},
           max_features=_MOST_COLUMNS, relative=("difference", "mean")),
    Method("measure", "boosted-scores", "groupwise.measures:BoostedRowsClassifier",
           "gradient boosting on rows and on their standard scores inside their group",
           search={"n_estimators": (100, 300)}, max_features=_MOST_COLUMNS, relative=("score",)),
    Method("measure", "focused-adaboost", "groupwise.measures:FocusedAdaBoostClassifier",
           "AdaBoost with weight on the groups that do badly"),
    Method("measure", "adaboost-group", "groupwise.measures:GroupAdaBoostClassifier",
           "AdaBoost.Group, Ni et al. 2008"),
    Method("measure", "svm-perf", "groupwise.measures:SVMPerfClassifier", "Joachims 2005",
           search={"C": (0.01, 0.1, 1.0)}, n_classes=2, max_rows=200_000,
           measures=frozenset({"accuracy", "f1", "precision_at_k"})),

    Method("transfer", "balanced", "groupwise.transfer:BalancedTransferClassifier",
           "the target's share of the weight, chosen on the target"),
    Method("transfer", "tradaboost", "groupwise.transfer:TrAdaBoostClassifier", "Dai et al. 2007"),
    Method("transfer", "multisource", "groupwise.transfer:MultiSourceTrAdaBoostClassifier",
           "Yao and Doretto 2010", max_rows=50_000),
    Method("transfer", "task", "groupwise.transfer:TaskTrAdaBoostClassifier",
           "Yao and Doretto 2010", max_rows=50_000),
    Method("transfer", "augmentation", "groupwise.transfer:FeatureAugmentationClassifier",
           "Daume 2007"),
    Method("transfer", "equal-mass", _WEIGHTED,
           "baseline: boosting; target and source weigh the same", _ROWS),
    Method("transfer", "target-only", _WEIGHTED, "baseline: boosting; the target's rows alone",
           _ROWS | {"weighting": "groupwise.transfer:TargetOnly"}),
    Method("transfer", "union", _WEIGHTED, "baseline: boosting; all rows alike",
           _ROWS | {"weighting": "groupwise.transfer:PooledRows"}),
    Method("transfer", "target-logistic", _WEIGHTED,
           "baseline: logistic regression; the target's rows alone",
           {"estimator": _LOGISTIC, "weighting": "groupwise.transfer:TargetOnly"},
           {"estimator__C": (0.1, 1.0)}),
    Method("transfer", "equal-mass-logistic", _WEIGHTED,
           "baseline: logistic regression; target and source weigh the same",
           {"estimator": _LOGISTIC}, {"estimator__C": (0.1, 1.0)}),
    Method("transfer", "union-logistic", _WEIGHTED,
           "baseline: logistic regression; all rows alike",
           {"estimator": _LOGISTIC, "weighting": "groupwise.transfer:PooledRows"},
           {"estimator__C": (0.1, 1.0)}),
    Method("transfer", "source-prior", "groupwise.transfer:SourcePriorClassifier",
           "logistic regression, its prior from the source (as Chelba and Acero 2006)"),
    Method("transfer", "source-scores", "groupwise.transfer:SourceScoresClassifier",
           "a forest on the target's rows and what the source says of them (Wolpert 1992)",
           max_rows=20_000),
    Method("transfer", "equal-mass-forest", _WEIGHTED,
           "extremely randomised trees (Geurts et al. 2006); target and source weigh the same",
           {"estimator": _ROW_FOREST}, max_rows=20_000),
    Method("transfer", "importance", _WEIGHTED,
           "boosting; source rows weigh by how much they look like the target (Bickel et al. 2007)",
           _ROWS | {"weighting": "logistic"}, max_rows=200_000, uses_unlabelled=True),
    Method("transfer", "transductive-svm", _WEIGHTED,
           "Joachims 1999: the plane keeps away from unlabelled rows, too",
           {"estimator": "groupwise.transfer:TransductiveSVC"}, n_classes=2, max_rows=10_000,
           uses_unlabelled=True),

    *(method for kind in ("mean", "total") for method in _of_numbers(kind)),
    Method("total", "group-boost-poisson", _BOOST_NUMBERS, "Poisson's law of totals, on LightGBM",
           _boosting("PoissonTotalLoss"), _ROUNDS, takes_exposure=True),
    Method("total", "group-boost-negative-binomial", _BOOST_NUMBERS,
           "the same for totals that scatter more", _boosting("NegativeBinomialTotalLoss"), _ROUNDS,
           takes_exposure=True),

    Method("survival", "group-boost", _BOOST_NUMBERS, "partial likelihood (Cox 1972), on LightGBM",
           {"loss": "groupwise.losses:CoxLoss"}, _ROUNDS),
    Method("survival", "group-boost-worst", _BOOST_NUMBERS,
           "the same of a smooth maximum over the group's rows",
           {"loss": "groupwise.losses:CoxLoss", "loss__sharpness": 1.0}, _ROUNDS),
    Method("survival", "means-cox", "groupwise.proportions:GroupMeansCoxRegressor",
           "baseline: penalised Cox regression on each group's mean",
           search={"alpha": (1.0, 0.1, 10.0)}),
    Method("survival", "statistics", "groupwise.proportions:GroupStatisticsCoxRegressor",
           "penalised Cox regression on means, spreads and extremes of each group's rows",
           search={"alpha": (1.0, 10.0)}, max_features=_MOST_COLUMNS, explains=False),
    Method("survival", "network", _NETS_NUMBERS, "networks on the partial likelihood (Cox 1972)",
           _network("CoxLoss"), needs="torch", max_rows=20_000, is_slow=True),

    # the loss comes from what is known by each grouping
    Method("groupings", "group-boost", _BOOST, "the groupings' losses added up, on LightGBM",
           {"trees": "groupwise.boosting:HistTrees"}, _ROUNDS),

    *(Method(kind, AUTO, "groupwise.auto:AutoGroupClassifier",
             "all of these compete, the best few are averaged",
             {"kind": kind, "time_limit": _AUTO_SECONDS})
      for kind in ("majority", "presence", "grade", "proportions", "measure", "transfer")),
    *(Method(kind, AUTO, "groupwise.auto:AutoGroupRegressor",
             "those of squared error compete, the best few are averaged",
             {"time_limit": _AUTO_SECONDS})
      for kind in ("mean", "total")),
    Method("survival", AUTO, "groupwise.auto:AutoGroupRegressor",
           "all of these compete, the best few are averaged",
           {"target": "time", "time_limit": _AUTO_SECONDS}),
)
# fmt: on


def methods_for(kind: str) -> list[Method]:
    """The methods for a kind of supervision, the preferred one first."""
    return [method for method in METHODS if method.kind == kind]


def get_method(
    kind: str,
    method: str | None,
    *,
    n_rows: int,
    n_classes: int,
    measure: str | None = None,
    exposure: bool = False,
) -> Method:
    """A method by name, or the first that applies.

    A name is taken at its word on large tables, where comparisons leave slow methods out.

    Raises
    ------
    OptionError
        If there is no such method, or it cannot be used here.
    """
    offered = methods_for(kind)
    if method is None:
        return next(
            m
            for m in offered
            if m.reason_against(n_rows, n_classes, measure, exposure=exposure) is None
        )
    for candidate in offered:
        if candidate.name == method:
            reason = candidate.reason_against(0, n_classes, measure, exposure=exposure)
            if reason is not None:
                raise OptionError(f"`method` {method} {reason}")
            return candidate
    raise OptionError(
        f"`kind` {kind} has no method {method!r}; it has {', '.join(m.name for m in offered)}"
    )
