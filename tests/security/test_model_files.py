"""A model file from a stranger sets attributes of listed classes, and does nothing else."""

import importlib
import io
import json
import os
import pkgutil
import random
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
import skops.io
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from skops.io._audit import NODE_TYPE_MAPPING
from skops.io._protocol import PROTOCOL as SKOPS_PROTOCOL

import groupwise
from groupwise import (
    GroupAdaBoostClassifier,
    GroupBoostClassifier,
    HistTrees,
    LPBoostClassifier,
    NaiveGroupClassifier,
    SBoostClassifier,
)
from groupwise.boosting import BoostedTrees, LinearLearner
from groupwise.io import ModelFileError, load_model, save_model
from groupwise.io.loadable import LOADABLE, OWN, SKLEARN, names_of
from groupwise.io.nodes import PROTOCOL, check_tree
from groupwise.measures import MeasureStumps
from groupwise.presence import Balls, FixedPool, Stumps
from groupwise.transfer import WeightedTransferClassifier
from groupwise.transfer.density_ratio import KLIEP, KernelMeanMatching, LogisticRatio
from groupwise.transfer.weighting import (
    AuxiliaryRatio,
    Importance,
    PooledRows,
    TargetOnly,
    TargetShare,
)

ROOMS = ("majority", "proportions", "presence", "measures", "transfer", "gbdt", "incontext")


def all_modules():
    pytest.importorskip("distributed")
    pytest.importorskip("torch")
    for found in pkgutil.walk_packages(groupwise.__path__, "groupwise."):
        yield importlib.import_module(found.name)


def own_classes():
    """Every class that the package defines."""
    classes = {}
    for module in all_modules():
        for cls in vars(module).values():
            if isinstance(cls, type) and cls.__module__.startswith("groupwise."):
                classes[f"{cls.__module__}.{cls.__qualname__}"] = cls
    return classes


def chosen_parts():
    """Models made of more than the defaults: three classes, learners, engines, losses, measures."""
    for estimator in (
        HistTrees(),
        LinearLearner(),
        BoostedTrees(),
        DecisionTreeClassifier(max_depth=1),
    ):
        yield SBoostClassifier(estimator, n_estimators=2), 3
        yield LPBoostClassifier(estimator), 2
    for estimator in (Stumps(), Balls(), FixedPool([DecisionTreeClassifier(max_depth=1)])):
        yield LPBoostClassifier(estimator), 2
    for loss in ("majority", "majority_softmax", "presence", "presence_lse", "proportions"):
        yield GroupBoostClassifier(loss=loss, n_estimators=2), 2
    yield GroupBoostClassifier(loss="proportions_squared", engine="xgboost", n_estimators=2), 2
    for measure in ("accuracy", "balanced_accuracy", "f1", "matthews"):
        yield GroupAdaBoostClassifier(MeasureStumps(), measure=measure, n_estimators=2), 2
    for measure in ("precision_at_k", "average_precision", "ndcg", "roc_area"):
        yield GroupAdaBoostClassifier(measure=measure, n_estimators=2), 2
    for rule in ("any", "majority", "mean", "presence", "score"):
        yield SBoostClassifier(n_estimators=2, rule=rule), 2
    for weighting in (TargetOnly(), PooledRows(), TargetShare(), AuxiliaryRatio(),
                      Importance(LogisticRatio()), Importance(KLIEP()),
                      Importance(KernelMeanMatching())):  # fmt: skip
        yield WeightedTransferClassifier(weighting=weighting, target_domain=1), 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "n_classes"), list(chosen_parts()), ids=str)
def test_chosen_parts_come_back(model, n_classes, tmp_path):
    if getattr(model, "engine", None) == "xgboost":
        pytest.importorskip("xgboost")
    rng = np.random.RandomState(0)
    groups = np.arange(40).repeat(3)
    y = rng.permutation(np.arange(40) % n_classes).repeat(3)
    X = rng.normal(size=(120, 3)) + y[:, None]
    if isinstance(model, GroupAdaBoostClassifier):
        y = (X[:, 0] > 0.5).astype(int)
    if isinstance(getattr(model, "estimator", None), FixedPool):
        for classifier in model.estimator.classifiers:
            classifier.fit(X, np.where(X[:, 0] > 0.5, 1, -1))
    if isinstance(model, WeightedTransferClassifier):
        model.fit(X, y, domains=np.arange(120) % 2)
    else:
        model.fit(X, y, groups=groups)
    again = load_model(save_model(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_list_names_classes_that_exist():
    gone = sorted(names_of(OWN) - set(own_classes()))
    assert not gone, f"remove from groupwise.io.loadable.OWN: {gone}"
    for module, names in SKLEARN.items():
        public = importlib.import_module(module)
        assert all(isinstance(getattr(public, name), type) for name in names.split())


def test_listed_classes_do_nothing_on_the_way():
    """None of ours takes part in its own loading: ``__new__`` and attributes, as skops does it."""
    for name, cls in own_classes().items():
        if name not in names_of(OWN):
            continue
        for method in ("__setstate__", "__new__", "__reduce__", "__reduce_ex__", "__setattr__"):
            for base in cls.__mro__:
                ours = base.__module__.startswith("groupwise.") and method in vars(base)
                frozen = method == "__setattr__" and "__dataclass_fields__" in vars(base)
                assert not ours or frozen, f"{name} has its own {method}"
        assert not hasattr(cls, "__del__")


def test_classes_off_the_list_are_refused(make_node):
    """Also those of the package itself, and by every loader."""
    loaders = {loader for loader, _ in NODE_TYPE_MAPPING}
    listed = set().union(*LOADABLE.values())
    refused = 0
    for name in sorted(set(own_classes()) - listed):
        for loader in loaders:
            schema = make_node(loader, name, content={}, protocol=PROTOCOL)
            with pytest.raises(ModelFileError):
                check_tree(schema, frozenset())
            refused += 1
    assert refused > 2000
    for name in ("groupwise.dask.memory.SpilledArray", "groupwise.methods.Method"):
        assert name not in listed and name in own_classes()


def test_loaders_that_call_are_not_on_the_list(make_node):
    assert SKOPS_PROTOCOL == PROTOCOL, "read the loaders of the new protocol, then move PROTOCOL"
    for loader in sorted({loader for loader, _ in NODE_TYPE_MAPPING} - set(LOADABLE)):
        schema = make_node(loader, "builtins.list", content=[], protocol=PROTOCOL)
        with pytest.raises(ModelFileError, match="would call what the file names"):
            check_tree(schema, frozenset())
    calling = {"ConstructorFromReduceNode", "MethodNode", "PartialNode", "OperatorFuncNode",
               "DefaultDictNode", "CachedNode", "QuantileForestNode"}  # fmt: skip
    assert not calling & set(LOADABLE)


def test_older_protocols_are_refused(craft):
    schema, members = craft.schema()
    for protocol in (0, 1, 3, True, 2.0, None, "2"):
        with pytest.raises(ModelFileError, match="protocol"):
            load_model(craft(schema | {"protocol": protocol}, members))


def test_the_chain_of_the_review(craft, make_node, tmp_path):
    """A constructor of a class of ours with ``os:system`` among its arguments."""
    text = json.dumps(f"touch {tmp_path / 'pwned'}")
    arguments = make_node("TupleNode", "builtins.tuple", content=[
        make_node("JsonNode", "builtins.str", content=text)])  # fmt: skip
    for name in ("groupwise.methods.Method", "groupwise.jobs.job.Job",
                 "groupwise.dask.memory.SpilledArray", "groupwise.groups.Groups"):  # fmt: skip
        schema = make_node("ConstructorFromReduceNode", name, content=arguments, protocol=PROTOCOL)
        with pytest.raises(ModelFileError, match="would call"):
            load_model(craft(schema))
    assert not (tmp_path / "pwned").exists()


def empty_list(make_node, *types, **more):
    nodes = [make_node("TypeNode", name) for name in types]
    return make_node("ListNode", "builtins.list", content=nodes, **more)


def test_keys_are_made_by_plain_types_only(craft, make_node):
    """skops calls the type of a key with the key's text."""
    value = make_node("JsonNode", "builtins.str", content="1")
    for name in ("groupwise.groups.Groups", "builtins.map", "builtins.open", "os.system"):
        schema = make_node("DictNode", "builtins.dict", content={"pwned": value},
                           key_types=empty_list(make_node, name), protocol=PROTOCOL)  # fmt: skip
        with pytest.raises(ModelFileError):
            load_model(craft(schema))
    for types in (value, make_node("TupleNode", "builtins.tuple", content=[]), None, 3):
        schema = make_node("DictNode", "builtins.dict", content={}, key_types=types,
                           protocol=PROTOCOL)  # fmt: skip
        with pytest.raises(ModelFileError):
            load_model(craft(schema))


def test_a_number_stands_for_one_node(craft, make_node):
    """skops takes the first node of a number for all that follow."""
    kernel = make_node("ObjectNode", "groupwise.kernels.gram.Kernel", __id__=7)
    callables = make_node("ListNode", "builtins.list", content=[kernel], __id__=8)
    keys = empty_list(make_node, "builtins.str", __id__=8)
    inner = make_node("DictNode", "builtins.dict", content={"a": kernel}, key_types=keys)
    schema = make_node("ListNode", "builtins.list", content=[callables, inner], protocol=PROTOCOL)
    with pytest.raises(ModelFileError, match="two different nodes"):
        load_model(craft(schema))
    other = make_node("JsonNode", "builtins.str", content="1", __id__=7)
    schema = make_node("ListNode", "builtins.list", content=[kernel, other], protocol=PROTOCOL)
    with pytest.raises(ModelFileError, match="two different nodes"):
        load_model(craft(schema))


def test_random_generators_are_numpys(craft, make_node):
    model = NaiveGroupClassifier().set_params()
    model.rng = np.random.Generator(np.random.Philox(3))
    schema, members = craft.schema(model)
    assert load_model(craft(schema, members)).rng.random() == model.rng.random()
    text = json.dumps(schema).replace('"\\"Philox\\""', '"\\"seed\\""')
    with pytest.raises(ModelFileError, match="no bit generator"):
        load_model(craft(text, members))


def test_saving_says_what_loading_would_refuse(tmp_path):
    for model, named in [
        (FunctionTransformer(np.save), "numpy.save"),
        (FunctionTransformer(save_model), "save_model"),
        (make_pipeline(FunctionTransformer(subprocess.run), StandardScaler()), "subprocess.run"),
    ]:
        with pytest.raises(ModelFileError, match=rf"{named}"):
            save_model(model, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []
    model = make_pipeline(FunctionTransformer(np.log1p), StandardScaler()).fit([[1.0], [2.0]])
    again = load_model(save_model(model, tmp_path / "model.skops"))
    assert again.transform([[3.0]]) == model.transform([[3.0]])


# A fuzzer: trees of package classes, dangerous names and every loader. Nothing may be called.

DANGEROUS = ["os.system", "subprocess.Popen", "subprocess.run", "builtins.eval", "builtins.exec",
             "builtins.open", "builtins.map", "shutil.rmtree", "pathlib.Path", "socket.socket",
             "importlib.import_module", "operator.methodcaller", "functools.partial",
             "pickle.loads", "numpy.load", "joblib.load", "codecs.open", "sys.exit"]  # fmt: skip


def random_tree(rng, names, loaders, depth=0):
    loader, name = rng.choice(loaders), rng.choice(names)
    if loader in LOADABLE and rng.random() < 0.7:  # also trees that pass, which must be harmless
        name = rng.choice(sorted(LOADABLE[loader]))
    module, _, cls = name.rpartition(".")
    tree = {"__loader__": loader, "__module__": module, "__class__": cls}
    if rng.random() < 0.5:
        tree["__id__"] = rng.randint(1, 12)

    def child():
        if depth > 3 or rng.random() < 0.3:
            text = rng.choice(['"touch pwned"', '"PCG64"', "1", "[1, 2]", "{}", '"w"', '"os"'])
            return {"__loader__": "JsonNode", "__module__": "builtins", "__class__": "str",
                    "content": text}  # fmt: skip
        return random_tree(rng, names, loaders, depth + 1)

    shapes = [
        lambda: {"content": child()},
        lambda: {"content": [child() for _ in range(rng.randint(0, 3))]},
        lambda: {"content": {k: child() for k in ("func", "args", "kwds", "namespace")}},
        lambda: {"content": {"main": child(), "default_factory": child()}},
        lambda: {"content": {"obj": child(), "func": "system"}},
        lambda: {"content": {"bit_generator": child(), "seed_seq": child()}},
        lambda: {"content": {"data": child(), "mask": child()}},
        lambda: {"content": {"touch pwned": child()}, "key_types": child()},
        lambda: {"content": child(), "__reduce__": {"args": child()}},
        lambda: {"attrs": child()},
        lambda: {"type": "numpy", "file": rng.choice(["a.npy", "b.bin", "../x"])},
        lambda: {"type": "json", "content": [child()], "shape": child()},
    ]
    for _ in range(rng.randint(1, 2)):
        tree |= rng.choice(shapes)()
    return tree


QUIET = {"os.listdir", "os.scandir", "os.getxattr", "os.walk", "os.fwalk"}
ALARMING = ("os.", "shutil.", "socket.", "subprocess.", "tempfile.", "ctypes.", "pty.", "pickle.",
            "sqlite3.", "urllib.", "webbrowser.", "ftplib.", "http.", "exec")  # fmt: skip


class Watch:
    """What Python itself reports of a call: files opened to be written, processes, sockets, ..."""

    def __init__(self):
        self.on, self.seen = False, []
        sys.addaudithook(self.hear)

    def hear(self, event, args):
        if not self.on:
            return
        writes = event == "open" and (
            set(str(args[1] or "r")) & set("wax+")
            or (isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        )
        if writes or (event.startswith(ALARMING) and event not in QUIET):
            self.seen.append((event, repr(args)[:200]))


@pytest.fixture(scope="module")
def watch():
    return Watch()


def test_the_watch_hears(watch, tmp_path):
    watch.seen, watch.on = [], True
    (tmp_path / "a").write_text("")
    subprocess.run(["true"], check=True)
    exec("1 + 1")
    watch.on = False
    heard = [event for event, _ in watch.seen]
    assert {"open", "subprocess.Popen", "exec"} <= set(heard)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_no_tree_calls_anything(seed, craft, watch, monkeypatch):
    rng = random.Random(seed)
    classes = own_classes()
    load_model(craft(*craft.schema()))  # what is imported on first use
    watch.seen = []
    for cls in classes.values():
        for method in ("__init__", "__post_init__", "__call__"):
            if method in vars(cls) and not issubclass(cls, BaseException):

                def rings(*_args, _name=f"{cls.__name__}.{method}", **_kwargs):
                    watch.seen.append(_name)

                monkeypatch.setattr(cls, method, rings)
    names = sorted(classes) + DANGEROUS * 8
    loaders = sorted({loader for loader, _ in NODE_TYPE_MAPPING})
    array = io.BytesIO()
    np.save(array, np.arange(3.0))
    members = {"a.npy": array.getvalue(), "b.bin": b"x"}
    refused = loaded = 0
    for _ in range(300):
        path = craft(random_tree(rng, names, loaders) | {"protocol": PROTOCOL}, members)
        watch.on = True
        try:
            load_model(path)
            loaded += 1
        except ModelFileError:
            refused += 1
        finally:
            watch.on = False
    assert watch.seen == []
    assert refused > 100 and loaded > 5


# Sizes, damage and nonsense.


def test_bombs_are_refused_before_they_are_unpacked(craft, tmp_path):
    schema, members = craft.schema()
    big = b"\0" * (80 << 20)
    cases = [
        craft(schema, members | {"x.npy": big}, deflate=("x.npy",), name="member.skops"),
        craft(schema, members | {"result.json": big}, deflate=("result.json",), name="r.skops"),
    ]
    del big
    for path in cases:
        assert path.stat().st_size < 1 << 20
        tracemalloc.start()
        with pytest.raises(ModelFileError, match=r"would become|is compressed"):
            load_model(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 << 20


def test_arrays_that_claim_more_than_they_have(craft):
    model = NaiveGroupClassifier()
    model.weights = np.arange(4.0)
    schema, members = craft.schema(model)
    (name,) = [member for member in members if member.endswith(".npy")]
    for shape in ("(1000000000000,)", "(4, 99999999)", "(-4,)", "(2, 1)"):
        length = int.from_bytes(members[name][8:10], "little") + len(shape) - len("(4,)")
        text = members[name][10:].replace(b"(4,)", shape.encode())
        crafted = b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text
        path = craft(schema, members | {name: crafted})
        if shape == "(2, 1)":
            assert load_model(path).weights.shape == (2, 1)
            continue
        with pytest.raises(ModelFileError, match="claims"):
            load_model(path)


def test_a_bomb_inside_a_sparse_matrix(craft):
    model = NaiveGroupClassifier()
    model.weights = csr_array(np.eye(3))
    schema, members = craft.schema(model)
    np.testing.assert_array_equal(load_model(craft(schema, members)).weights.toarray(), np.eye(3))
    (name,) = [member for member in members if member.endswith(".npz")]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.npy", b"\0" * (80 << 20))
    with pytest.raises(ModelFileError, match="would become"):
        load_model(craft(schema, members | {name: stream.getvalue()}))


@pytest.mark.parametrize("header", [
    {"format": 0}, {"format": -(10**9)}, {"format": float("nan")}, {"format": True},
    {"format": "1"}, {"format": None}, {"format": 1.0}, {"versions": None}, {"versions": [1]},
    {"versions": {"groupwise": 3}}, {"digest": None}, {"digest": 3}, {"format": 1}, {"format": 3},
])  # fmt: skip
def test_headers_of_nonsense(craft, header):
    schema, members = craft.schema()
    with pytest.raises(ModelFileError, match=r"crafted\.skops"):
        load_model(craft(schema, members, header=header))


def test_trees_of_nonsense(craft, make_node):
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    nested = make_node("JsonNode", "builtins.str", content="1")
    for _ in range(300):
        nested = make_node("ListNode", "builtins.list", content=[nested])
    schema, members = craft.schema()
    for tree in ("", "[]", "null", "3", "{", deep, '"x"', b"\xff\xfe", nested | {"protocol": 2},
                 {**schema, "__class__": 3}, {**schema, "__module__": "groupwise.nothere"},
                 {**schema, "content": None}, {**schema, "content": [1]},
                 {k: v for k, v in schema.items() if k != "__loader__"}):  # fmt: skip
        path = craft(tree, members)
        try:
            load_model(path)
        except ModelFileError as error:
            assert "crafted.skops" in str(error)
    with pytest.raises(ModelFileError, match="nested too deeply"):
        load_model(craft(deep, members))


@pytest.mark.parametrize("seed", range(3))
def test_damage_is_told_in_words(seed, tmp_path):
    path = save_model(SBoostClassifier(), tmp_path / "model.skops")
    whole = path.read_bytes()
    rng = random.Random(seed)
    for _ in range(150):
        content = bytearray(whole)
        if rng.random() < 0.3:
            del content[rng.randrange(len(content)) :]
        else:
            place = rng.randrange(rng.choice([0, len(content) - 200]), len(content))
            content[place] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(content))
        try:
            assert load_model(path).get_params() == SBoostClassifier().get_params()
        except ModelFileError as error:
            assert "model.skops" in str(error)


def test_skops_files_of_others_are_no_model_files(tmp_path):
    skops.io.dump(SBoostClassifier(), tmp_path / "plain.skops")
    with pytest.raises(ModelFileError, match="is no model file of groupwise"):
        load_model(tmp_path / "plain.skops")
