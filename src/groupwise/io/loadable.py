"""What a model file may hold: a list of names, and nothing that is derived from one.

Every class here is created with ``__new__`` and has its attributes set; none of them does anything
on the way. A class that writes, reads or runs something when it is made or called with arguments of
a file (a job, a method of the command line, an array parked on disk) has no place here. Where a
test says that a model needs a class, add it to the table of its package after reading it.
"""

import numpy as np

from groupwise._compat import loss_module

__all__ = ["BIT_GENERATORS", "KEY_TYPES", "LOADABLE", "OWN", "SKLEARN", "names_of"]

#: Classes of this package, by module.
OWN = {
    "groupwise.auto.choice": "Estimate HeldOutGroups",
    "groupwise.auto.classifier": "AutoGroupClassifier",
    "groupwise.auto.decision": "RowDecision",
    "groupwise.auto.ensemble": "GroupAverage NumberAverage RowAverage ShareAverage TimeAverage",
    "groupwise.auto.kinds": "Labels Measured Numbers Shares Times Transferred",
    "groupwise.auto.members": "Member",
    "groupwise.auto.regressor": "AutoGroupRegressor",
    "groupwise.auto.scaling": "Scaling",
    "groupwise.boosting.boosted_trees": "BoostedTrees TreeSum",
    "groupwise.boosting.classifiers": "VoteEnsemble",
    "groupwise.boosting.hist_tree_runs": "HistTreeEnsemble",
    "groupwise.boosting.hist_trees": "HistTrees",
    "groupwise.boosting.lightgbm": "LightGBMModel PickledBooster",
    "groupwise.boosting.linear": "LinearEnsemble LinearLearner",
    "groupwise.boosting.votes": "OneVsRest",
    "groupwise.boosting.xgboost": "XGBoostModel",
    "groupwise.dask.classifier": "DaskGroupBoostClassifier",
    "groupwise.dask.regressor": "DaskGroupBoostRegressor",
    "groupwise.gbdt.classifier": "GroupBoostClassifier",
    "groupwise.gbdt.multilabel": "GroupBoostMultilabelClassifier",
    "groupwise.gbdt.regressor": "GroupBoostRegressor",
    "groupwise.gbdt.rounds": "GroupTrees",
    "groupwise.groups": "Groups",
    "groupwise.incontext.classifier": "InContextClassifier",
    "groupwise.incontext.columns": "Context NormalScores Reader",
    "groupwise.incontext.members": "Member",
    "groupwise.incontext.projections": "Projection StandardScores",
    "groupwise.inputs.rows": "CategoryColumns",
    "groupwise.jobs.group_labels": "Grade Majority Presence",
    "groupwise.jobs.groupings": "SeveralSupervision",
    "groupwise.jobs.model": "TableModel",
    "groupwise.jobs.numbers": "Mean Total",
    "groupwise.jobs.proportions": "Proportions",
    "groupwise.jobs.reports": "Reports",
    "groupwise.jobs.row_labels": "Measure Transfer",
    "groupwise.jobs.survival": "Survival",
    "groupwise.kernels.features": "LandmarkFeatures",
    "groupwise.kernels.gram": "Kernel",
    "groupwise.losses.exact_counts": "ExactCountLoss",
    "groupwise.losses.exact_reports": "ExactReportedLoss",
    "groupwise.losses.majority": "MajorityLoss",
    "groupwise.losses.ordinal": "OrdinalLoss",
    "groupwise.losses.presence": "NoisyOrLoss SmoothMaxLoss",
    "groupwise.losses.presence_labels": "PresenceLabelsLoss",
    "groupwise.losses.proportions": "CountLikelihoodLoss ShareLoss",
    "groupwise.losses.quantile": "GroupQuantileLoss",
    "groupwise.losses.regression": "GroupMeanLoss",
    "groupwise.losses.reported": "Reported",
    "groupwise.losses.reported_counts": "ReportedCountLoss",
    "groupwise.losses.session_softmax": "SessionSoftmaxLoss",
    "groupwise.losses.several": "SeveralGroupings",
    "groupwise.losses.survival": "CoxLoss",
    "groupwise.losses.totals": "NegativeBinomialTotalLoss PoissonTotalLoss",
    "groupwise.majority.naive": "NaiveGroupClassifier",
    "groupwise.majority.sboost": "SBoostClassifier",
    "groupwise.majority.sboost_cv": "SBoostClassifierCV",
    "groupwise.majority.statistics": "GroupStatisticsClassifier",
    "groupwise.measures.adaboost_group": "GroupAdaBoostClassifier",
    "groupwise.measures.boosted_rows": "BoostedRowsClassifier",
    "groupwise.measures.expected_measure": "ExpectedMeasureClassifier",
    "groupwise.measures.focused": "FocusedAdaBoostClassifier",
    "groupwise.measures.measure_stumps": "MeasureStumps StumpEnsemble",
    "groupwise.measures.svm_perf": "SVMPerfClassifier",
    "groupwise.measures.threshold": "ThresholdTunedClassifier",
    "groupwise.metrics.counts": "Accuracy BalancedAccuracy FBeta Matthews",
    "groupwise.metrics.ranking": "AveragePrecision NDCG PrecisionAtK ROCArea",
    "groupwise.model_selection": "WholeGroupKFold WholeGroupShuffleSplit",
    "groupwise.nets.answers": "NetEnsemble",
    "groupwise.nets.classifier": "GroupNetClassifier",
    "groupwise.nets.piecewise": "PiecewiseLinear",
    "groupwise.nets.regressor": "GroupNetRegressor",
    "groupwise.pipeline": "GroupPipeline",
    "groupwise.preparation": "Preparation",
    "groupwise.presence.apr": "APRClassifier",
    "groupwise.presence.balls": "BallSum Balls",
    "groupwise.presence.citation_knn": "CitationKNNClassifier",
    "groupwise.presence.dissimilarity": "DissimilarityClassifier",
    "groupwise.presence.dpboost": "DPBoostClassifier",
    "groupwise.presence.em_dd": "EMDDClassifier",
    "groupwise.presence.fisher": "FisherVectorClassifier FisherVectors",
    "groupwise.presence.fixed_pool": "ClassifierSum FixedPool",
    "groupwise.presence.lpboost": "LPBoostClassifier",
    "groupwise.presence.mi_svm": "MISVMClassifier",
    "groupwise.presence.miles": "MILESClassifier",
    "groupwise.presence.program.ensemble": "ProgramEnsemble",
    "groupwise.presence.repeated_svm": "KernelPlane",
    "groupwise.presence.set_kernel": "SetKernelClassifier",
    "groupwise.presence.stumps": "StumpSum Stumps",
    "groupwise.presence.vote": "GroupVoteClassifier",
    "groupwise.proportions.alternating_mean_map": "AlternatingMeanMapClassifier",
    "groupwise.proportions.decode_refit": "DecodeRefitClassifier",
    "groupwise.proportions.easy_llp": "EasyLLPClassifier",
    "groupwise.proportions.graph": "GraphAOCClassifier",
    "groupwise.proportions.group_cox": "GroupMeansCoxRegressor GroupStatisticsCoxRegressor",
    "groupwise.proportions.group_means": "GroupMeansClassifier GroupMeansRegressor",
    "groupwise.proportions.group_statistics": "GroupStatisticsRegressor",
    "groupwise.proportions.kernel_count": "KernelCountClassifier",
    "groupwise.proportions.knn": "KNNAOCClassifier",
    "groupwise.proportions.laplacian_mean_map": "LaplacianMeanMapClassifier",
    "groupwise.proportions.linear_count": "LinearCountClassifier",
    "groupwise.proportions.manifold.classifier": "ManifoldAOCClassifier",
    "groupwise.proportions.manifold.classifier_cv": "ManifoldAOCClassifierCV",
    "groupwise.proportions.manifold.problem": "Expansion FeatureModel",
    "groupwise.proportions.manifold.regressor": "ManifoldAOCRegressor",
    "groupwise.proportions.mean_map": "MeanMapClassifier",
    "groupwise.proportions.mlp": "MLPAOCClassifier",
    "groupwise.proportions.naive": "NaiveGroupRegressor",
    "groupwise.proportions.naive_shares": "NaiveSharesClassifier",
    "groupwise.proportions.svm": "SVMAOCClassifier",
    "groupwise.relative": "RelativeFeaturesClassifier",
    "groupwise.rules": "AnyPositive MajorityVote MeanProbability MeanScore Presence",
    "groupwise.tables.columns": "Schema",
    "groupwise.transfer.augmentation": "FeatureAugmentationClassifier",
    "groupwise.transfer.balanced": "BalancedTransferClassifier",
    "groupwise.transfer.density_ratio": "KLIEP KernelMeanMatching LogisticRatio",
    "groupwise.transfer.model_selection": "TargetKFold TargetShuffleSplit",
    "groupwise.transfer.multisource": "ChosenRounds MultiSourceTrAdaBoostClassifier",
    "groupwise.transfer.regression": "MedianEnsemble TrAdaBoostRegressor",
    "groupwise.transfer.rounds": "LastHalf",
    "groupwise.transfer.safe": "SafeTrAdaBoostClassifier",
    "groupwise.transfer.source_prior": "Prior SourcePriorClassifier",
    "groupwise.transfer.source_scores": "SourceScoresClassifier",
    "groupwise.transfer.target_selection": "TargetSelection",
    "groupwise.transfer.task": "SumEnsemble TaskTrAdaBoostClassifier",
    "groupwise.transfer.tradaboost": "TrAdaBoostClassifier",
    "groupwise.transfer.tsvm": "TransductiveSVC",
    "groupwise.transfer.two_stage": "TwoStageTrAdaBoostRegressor",
    "groupwise.transfer.weighted": "WeightedTransferClassifier",
    "groupwise.transfer.weighting": "AuxiliaryRatio Importance PooledRows TargetOnly TargetShare",
    "groupwise.uncertainty.calibrated": "CalibratedGroupClassifier IsotonicScaling",
    "groupwise.uncertainty.classifier": "ConformalGroupClassifier",
    "groupwise.uncertainty.density_ratio": "DensityRatio",
    "groupwise.uncertainty.quantiles": "CalibrationScores",
    "groupwise.uncertainty.regressor": "ConformalGroupRegressor",
}

#: Estimators of scikit-learn that a model may be made of, by the module that offers them; their
#: own module (``sklearn.linear_model._logistic``) is scikit-learn's business and looked up.
SKLEARN = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.cluster": "KMeans MiniBatchKMeans",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
    "sklearn.decomposition": "FastICA IncrementalPCA KernelPCA NMF PCA TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.ensemble": "AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor "
    "ExtraTreesClassifier ExtraTreesRegressor GradientBoostingClassifier GradientBoostingRegressor "
    "HistGradientBoostingClassifier HistGradientBoostingRegressor RandomForestClassifier "
    "RandomForestRegressor StackingClassifier StackingRegressor VotingClassifier VotingRegressor",
    "sklearn.feature_extraction": "DictVectorizer FeatureHasher",
    "sklearn.feature_extraction.text": "CountVectorizer TfidfTransformer TfidfVectorizer",
    "sklearn.feature_selection": "GenericUnivariateSelect RFE RFECV SelectFdr SelectFpr "
    "SelectFromModel SelectFwe SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.gaussian_process": "GaussianProcessClassifier GaussianProcessRegressor",
    "sklearn.impute": "KNNImputer MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "AdditiveChi2Sampler Nystroem PolynomialCountSketch RBFSampler "
    "SkewedChi2Sampler",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.linear_model": "ARDRegression BayesianRidge ElasticNet ElasticNetCV GammaRegressor "
    "HuberRegressor Lasso LassoCV LinearRegression LogisticRegression LogisticRegressionCV "
    "PassiveAggressiveClassifier PassiveAggressiveRegressor Perceptron PoissonRegressor "
    "QuantileRegressor Ridge RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier SGDRegressor "
    "TheilSenRegressor TweedieRegressor",
    "sklearn.mixture": "BayesianGaussianMixture GaussianMixture",
    "sklearn.model_selection": "FixedThresholdClassifier GridSearchCV RandomizedSearchCV "
    "TunedThresholdClassifierCV",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
    "sklearn.multioutput": "MultiOutputClassifier MultiOutputRegressor",
    "sklearn.naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neighbors": "KNeighborsClassifier KNeighborsRegressor KernelDensity NearestCentroid "
    "NearestNeighbors RadiusNeighborsClassifier RadiusNeighborsRegressor",
    "sklearn.neural_network": "MLPClassifier MLPRegressor",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer "
    "LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder "
    "PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler StandardScaler "
    "TargetEncoder",
    "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
    "sklearn.svm": "LinearSVC LinearSVR NuSVC NuSVR OneClassSVM SVC SVR",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier "
    "ExtraTreeRegressor",
}

# What those estimators are made of. Compiled ones hold arrays and numbers.
_SKLEARN_PARTS = {
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
    "sklearn._loss.loss": "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss "
    "HalfMultinomialLoss HalfPoissonLoss HalfSquaredError HalfTweedieLoss "
    "HalfTweedieLossIdentity HuberLoss PinballLoss",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
    "sklearn.compose._column_transformer": "_RemainderColsList",  # a list, before 1.7
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": "ConstantKernel DotProduct Exponentiation Matern Product "
    "RBF RationalQuadratic Sum WhiteKernel",
    "sklearn.metrics._dist_metrics": "EuclideanDistance64 ManhattanDistance64 MinkowskiDistance64",
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.neighbors._ball_tree": "BallTree",
    "sklearn.neighbors._kd_tree": "KDTree",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
}

_OF_NUMBERS = "abs absolute cbrt exp exp2 expm1 log log10 log1p log2 sign sqrt square tanh"
# Found by name and not called on loading.
_FUNCTIONS = {
    "numpy": _OF_NUMBERS,
    "sklearn.feature_selection._mutual_info": "mutual_info_classif mutual_info_regression",
    "sklearn.feature_selection._univariate_selection": "chi2 f_classif f_regression",
}

if np.lib.NumpyVersion(np.__version__) < "2.0.0":  # which says that they are there
    _FUNCTIONS["numpy.core._multiarray_umath"] = _OF_NUMBERS

_NUMBERS = (
    "bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128 str_ bytes_ datetime64 timedelta64"
)

# These take numbers in their constructor and keep them.
_LOSSES = {
    # Before 1.9 the module calls itself _loss, and is known by that name once it is loaded.
    loss_module(): "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss "
    "CyHalfMultinomialLoss CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss "
    "CyHalfTweedieLossIdentity CyHuberLoss CyPinballLoss",
    "sklearn.linear_model._sgd_fast": "EpsilonInsensitive Hinge Huber Log ModifiedHuber "
    "SquaredEpsilonInsensitive SquaredHinge SquaredLoss",
}


def names_of(table: dict[str, str]) -> frozenset[str]:
    """``module.Class`` of every entry.

    Examples
    --------
    >>> sorted(names_of({"a.b": "C D"}))
    ['a.b.C', 'a.b.D']
    """
    return frozenset(
        f"{module}.{name}" for module, classes in table.items() for name in classes.split()
    )


#: What the keys of a stored dictionary may be made with. No truth values: skops keeps keys as text
#: and would make True of "false".
KEY_TYPES = names_of({"builtins": "float int str", "numpy": _NUMBERS}) - {
    "numpy.bool",
    "numpy.bool_",
}

#: What may stand behind a stored ``numpy.random.Generator``.
BIT_GENERATORS = frozenset({"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"})

#: For every loader of skops that may appear, the classes it may be asked to make. All others
#: (constructors, methods, partials, operators, default factories) would call what a file names.
LOADABLE = {
    "BytesNode": names_of({"builtins": "bytes"}),
    "DTypeNode": names_of({"numpy": "dtype"}),
    "DictNode": names_of(
        {"builtins": "dict", "collections": "OrderedDict", "sklearn.utils._bunch": "Bunch"}
    ),
    "FunctionNode": names_of(_FUNCTIONS),
    "JsonNode": names_of({"builtins": "str"}),
    "ListNode": names_of({"builtins": "list"}),
    "LossNode": names_of(_LOSSES),
    "NdArrayNode": names_of({"numpy": f"ndarray {_NUMBERS}"}),
    "ObjectNode": names_of(OWN) | names_of(_SKLEARN_PARTS),  # and SKLEARN
    "RandomGeneratorNode": names_of({"numpy.random._generator": "Generator"}),
    "RandomStateNode": names_of({"numpy.random.mtrand": "RandomState"}),
    "SetNode": names_of({"builtins": "set"}),
    "SliceNode": names_of({"builtins": "slice"}),
    "SparseMatrixNode": names_of(
        {"scipy.sparse._csc": "csc_array csc_matrix", "scipy.sparse._csr": "csr_array csr_matrix"}
    ),
    "TreeNode": names_of({"sklearn.tree._tree": "Tree"}),
    "TupleNode": names_of({"builtins": "tuple"}),
    "TypeNode": KEY_TYPES,
}
