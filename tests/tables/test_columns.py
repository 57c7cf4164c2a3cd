import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from groupwise.tables import Schema, TableError, choose_features
from groupwise.tables.columns import column_kind, unit_notes

N = 60
RNG = np.random.RandomState(0)
GROUP = np.repeat([f"g{k}" for k in range(12)], 5)
LABEL = np.repeat(["a", "b"], 30)


def use_of(values, *, name="column", **options):
    frame = pd.DataFrame({name: values, "other": RNG.normal(size=N)})
    (use,) = [u for u in choose_features(frame, {}, name="t", **options) if u.name == name]
    return use


@pytest.mark.parametrize(
    ("values", "use"),
    [
        (RNG.normal(size=N), "number"),
        (RNG.randint(5, size=N), "number"),
        (RNG.rand(N) > 0.5, "number"),
        (np.where(RNG.rand(N) > 0.5, 1.0, np.nan) * RNG.rand(N), "number"),
        (pd.array([1, 2, None] * 20, dtype="Int64"), "number"),
        (RNG.randint(50, size=N).astype("int8"), "number"),
        (["red", "green", None] * 20, "category"),
        (["1", "none", None] * 20, "category"),
        (pd.Categorical(["x", "y", "z"] * 20), "category"),
        (pd.Categorical([3, 5, 7] * 20), "number"),
        (["12", "-1.5e3", None] * 20, "number"),
        (["1,5", "12", "0,25"] * 20, "number"),
        (pd.date_range("2024-01-01", periods=N), "date"),
        ([datetime.date(2024, 1, 1 + k % 28) for k in range(N)], "date"),
        (["2024-01-05", "2024-02-07 10:30"] * 30, "date"),
        ([f"a note number {k}" for k in range(N)], "text"),
        ([f"street{k % 40}" for k in range(N)], "text"),
    ],
)
def test_features(values, use):
    found = use_of(values)
    assert found.use == use and found.is_feature


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        (["1.2 kg", "3 kg", None], "kg"),
        (["-12°C", "7,5°C", "8 °C"], "°C"),
        (["120 km/h", "80 km/h", "1,200.5 km/h"], "km/h"),
        (["1.2 kg", "300 g", "2 kg"], None),
        (["1A", "2B", "3C"], None),
        (["1st", "2nd", "3rd"], None),
        (["3 kg", "3 kg", "3 kg"], None),
        (["12 Main Street", "14 Main Street", "9 Main Street"], None),
        (["12", "14", "9"], None),
        (["red", "green", "12 kg"], None),
    ],
)
def test_numbers_with_a_unit_are_told(texts, unit):
    frame = pd.DataFrame({"column": texts * 20, "other": RNG.normal(size=N)})
    told = unit_notes(frame, choose_features(frame, {}, name="t"))
    said = "numbers with a unit are read as text: 'column' ({}); leave the unit out to have numbers"
    assert told == ([] if unit is None else [said.format(unit)])
    ignored = choose_features(frame, {}, name="t", ignored=["column"])
    assert unit_notes(frame, ignored) == []
    wanted = choose_features(frame, {}, name="t", wanted=["column", "other"])
    assert unit_notes(frame, wanted) == told


def test_measured_numbers_with_a_unit_are_told_where_they_look_like_ids():
    frame = pd.DataFrame({f"m{k}": [f"{x:.6f}cm" for x in RNG.normal(size=N)] for k in range(6)})
    uses = choose_features(frame.assign(other=RNG.normal(size=N)), {}, name="t")
    assert uses[0].use == "not used"
    assert (
        "'m0' (cm), 'm1' (cm), 'm2' (cm), 'm3' (cm), 'm4' (cm), ...;"
        in unit_notes(frame, uses[:-1])[0]
    )


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("x", np.arange(N), "numbers the rows"),
        ("x", np.arange(N)[::-1] * 10 + 7, "numbers the rows"),
        ("user_id", RNG.randint(9, size=N), "by its name"),
        ("userId", RNG.randint(9, size=N), "by its name"),
        ("id", [f"a{k % 7}" for k in range(N)], "by its name"),
        ("timestamp", 1_700_000_000 + RNG.randint(10**6, size=N), "time stamp"),
        ("x", pd.to_timedelta(np.arange(N), unit="s"), "a length of time"),
        ("x", ["5.1.2024", "17/2/24"] * 30, "dates or times as text"),
        ("x", ["10:30", "11:45"] * 30, "dates or times as text"),
        ("x", [f"a{k * 7}" for k in range(N)], "an identifier: 60 different values"),
        ("x", ["12", "13"] * 29 + ["14", "oops"], "numbers as text, but 'oops' in row 59 is none"),
        ("x", ["1,200", "13,500"] * 30, "decimals or thousands"),
        ("x", [f"{k}" for k in range(N)], "numbers the rows"),
        ("x", [7] * N, "one value only"),
        ("x", [None] * N, "empty"),
        ("x", [[1, 2]] * N, "nested"),
        ("x", GROUP, "same as the group"),
        ("x", np.repeat(RNG.permutation(12), 5), "same as the group"),
        ("x", np.where(LABEL == "a", 0, 1), "same as the label"),
        ("x", np.where(LABEL == "a", 0.25, 0.75), "same as the label"),
        ("x", LABEL == "a", "same as the label"),
    ],
)
def test_never_features_by_accident(name, values, why):
    found = use_of(values, name=name, same_as={"group": GROUP, "label": LABEL})
    assert found.use == "not used" and why in found.why


NUMBER = np.repeat(np.random.RandomState(1).normal(size=30), 2)


@pytest.mark.parametrize(
    ("values", "copied"),
    [
        (NUMBER, True),
        (-7 * NUMBER + 3, True),
        (np.exp(NUMBER), True),
        (np.argsort(np.argsort(NUMBER)) // 2 + 100, True),
        ([f"{x:.9f}".replace(".", ",") for x in NUMBER], True),
        (np.repeat(RNG.normal(size=30), 2), False),  # of every group another number, too
        (np.repeat(RNG.permutation(1000)[:30], 2), False),
        (np.abs(NUMBER), False),
        (NUMBER + 1e-3 * np.arange(N), False),
        (np.where(np.arange(N) < 2, np.nan, NUMBER), False),
    ],
)
def test_a_number_that_goes_with_the_label_is_no_feature(values, copied):
    found = use_of(values, same_as={"label": NUMBER})
    assert found.is_feature is not copied
    assert ("says the same as the label" in found.why) is copied


def test_of_few_groups_each_has_its_own_number_and_no_copy():
    label, other = np.repeat([[1.5], [4.25], [2.0], [9.5]], 15, axis=1).ravel(), [3, 1, 7, 2]
    assert use_of(np.repeat(other, 15), same_as={"label": label}).is_feature
    assert not use_of(np.repeat([1, 3, 2, 7], 15), same_as={"label": label}).is_feature


@pytest.mark.parametrize(
    ("values", "use"),
    [
        (RNG.permutation(1000)[:12], "number"),  # people of a precinct
        (RNG.permutation(12) + 7, "not used"),
        (RNG.permutation(12) * 10, "not used"),
        ([f"name {k}" for k in range(12)], "not used"),
        (RNG.normal(size=12), "number"),
    ],
)
def test_what_a_table_of_groups_says_of_each_is_a_feature(values, use):
    told = np.repeat(values, 5)
    found = use_of(told, same_as={"group": GROUP}, of_groups=["column"])
    assert found.use == use and found.of_group
    assert not use_of(told).of_group


def test_floats_that_differ_in_every_row_are_features():
    assert use_of(np.linspace(0, 1, N)).is_feature
    assert use_of(RNG.permutation(1000)[:N]).is_feature  # whole, all different, but no numbering


@pytest.mark.parametrize(
    "written",
    [
        lambda x: f"{x:.9f}".replace(".", ","),
        lambda x: f"{x:e}".replace(".", ","),
        lambda x: f"{1000 * x:,.6f}",
        lambda x: f"{1000 * x:,.6f}".translate(str.maketrans(".,", ",.")),
        lambda x: f"{x:.7f}%",
        lambda x: f"€ {1000 * x:,.6f}",
    ],
)
def test_numbers_as_text_that_differ_in_every_row_are_numbers(written):
    numbers = np.append(RNG.normal(size=N - 1), 2.5)
    values = pd.Series([written(x) for x in numbers])
    assert values.nunique() == N
    assert use_of(values).use == "number"
    frame = Schema(("x",), ()).conform(pd.DataFrame({"x": values}), name="t")
    scale = frame["x"].iloc[-1] / 2.5
    assert scale in (0.01, 1.0, 1000.0)
    np.testing.assert_allclose(frame["x"], scale * numbers, atol=1e-6)


@pytest.mark.parametrize(
    ("known", "new", "read"),
    [
        (["1,5", "2,250"], ["1,500", "2,250"], [1.5, 2.25]),
        (["1,5", "2,250"], ["1,500", "3", "0.5"], [1.5, 3.0, 0.5]),
        (["1,500", "2,250.5"], ["1,500", "2,250"], [1500.0, 2250.0]),
        (["1.500,5", "2"], ["1.500", "2.250"], [1500.0, 2250.0]),
        (["1.500,5", "2"], ["1.500", "2,250"], [1500.0, 2.25]),
        (["1,500", "2,250.5"], ["1,5", "2"], [1.5, 2.0]),  # which says itself what it is
        (["€ 1,5", "€ 2"], ["€ 1,500", "€ 2,250"], [1.5, 2.25]),
    ],
)
def test_a_comma_means_what_it_meant_in_training(known, new, read):
    training = pd.DataFrame({"x": known * 20})
    schema = Schema.from_uses(choose_features(training, {}, name="t"))
    assert schema.conform(pd.DataFrame({"x": new}), name="new")["x"].tolist() == read


def test_a_comma_that_nothing_tells_of_is_refused():
    schema = Schema.from_uses(choose_features(pd.DataFrame({"x": ["1.5", "2"] * 20}), {}, name="t"))
    with pytest.raises(TableError, match=r"must hold numbers, row 0 holds '1,500'"):
        schema.conform(pd.DataFrame({"x": ["1,500"]}), name="new")
    schema = Schema.from_uses(choose_features(pd.DataFrame({"x": ["1,5", "2"] * 20}), {}, name="t"))
    with pytest.raises(TableError, match=r"must hold numbers, row 1 holds 'two'"):
        schema.conform(pd.DataFrame({"x": ["1,500", "two"]}), name="new")


def test_roles_wishes_and_patterns():
    columns = {"acc_x": RNG.rand(N), "acc_y": RNG.rand(N), "user_id": RNG.randint(9, size=N)}
    frame = pd.DataFrame({**columns, "y": LABEL, "noise": RNG.rand(N)})
    uses = choose_features(frame, {"y": "label"}, name="t", wanted=["acc_*", "user_id"])
    assert [u.use for u in uses] == ["number", "number", "number", "label", "not used"]
    uses = choose_features(frame, {"y": "label"}, name="t", ignored=["acc_x", "n*"])
    assert [u.name for u in uses if u.is_feature] == ["acc_y"]
    with pytest.raises(TableError, match=r"no column 'acc_zz' .*did you mean 'acc_y' or 'acc_x'"):
        choose_features(frame, {}, name="t", wanted=["acc_zz"])
    with pytest.raises(TableError, match=r"no column 'qqq' .*its columns are 'acc_x'"):
        choose_features(frame, {}, name="t", ignored=["qqq"])
    wide = pd.DataFrame({**{f"p{k}": LABEL for k in range(20)}, "session": LABEL})
    with pytest.raises(TableError, match=r"are 'p0', .*'p5', \.\.\., 'p15', .*'p19', 'session'$"):
        choose_features(wide, {}, name="t", ignored=["qqq"])
    with pytest.raises(TableError, match=r"no column that can be a feature \(user_id: "):
        choose_features(frame[["user_id"]], {}, name="t")


def test_wishes_that_cannot_be():
    frame = pd.DataFrame({"d": pd.to_timedelta(range(30), unit="s"), "t": [[1]] * 30})
    with pytest.raises(TableError, match="column 'd' holds times without a date"):
        choose_features(frame, {}, name="t", wanted=["d"])
    with pytest.raises(TableError, match="column 't' holds nested values"):
        choose_features(frame, {}, name="t", wanted=["t"])


def test_schema_makes_tables_agree():
    train = pd.DataFrame({"x": [1.5, None], "c": ["1", "z"], "b": [True, False]})
    schema = Schema.from_uses(choose_features(train, {}, name="t", wanted=["x", "c", "b"]))
    assert schema == Schema(("x", "b"), ("c",))
    other = pd.DataFrame({"c": [2, 1], "b": ["1", None], "x": ["3", "4.5"], "more": 0})
    made = schema.conform(other, name="t")
    assert made.columns.tolist() == ["x", "b", "c"]
    assert made["x"].tolist() == [3.0, 4.5] and made["c"].tolist() == ["2", "1"]
    assert made["b"][0] == 1.0 and np.isnan(made["b"][1])
    gone = pd.DataFrame({"c": ["x"], "b": [None], "x": [None]})
    assert np.isnan(schema.conform(gone, name="t")["x"][0])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"c": ["u"]}, "t does not match the model: it has no column 'x'"),
        ({"x": ["ten"], "c": ["u"]}, "column 'x' must hold numbers, row 0 holds 'ten'"),
        ({"x": [np.inf], "c": ["u"]}, "column 'x' is infinite in row 0"),
        ({"x": [1.0, -1e101], "c": ["u", "u"]}, r"'x' holds -1e\+101 \(up to 1e\+100 .* in row 1"),
        (
            {"x": [1], "c": [pd.Timestamp("2024")]},
            "column 'c' must hold categories, it holds dates",
        ),
        ({"x": [1], "c": [[1]]}, "it holds nested values"),
    ],
)
def test_schema_names_what_does_not_match(frame, message):
    with pytest.raises(TableError, match=message):
        Schema(("x",), ("c",)).conform(pd.DataFrame(frame), name="t")


def test_dates_and_texts_of_a_schema():
    schema = Schema((), ("c",), ("d",), ("t",))
    frame = pd.DataFrame({"t": ["a b", None], "d": ["2024-03-31 06:00", None], "c": ["u", "v"]})
    made = schema.conform(frame, name="t")
    assert made.columns.tolist() == [*schema.numeric, "c", "t"]
    assert made["d (month)"].iloc[0] == 3 and made["d (hour)"].iloc[0] == 6
    assert made.iloc[1, :4].isna().all() and made["t"].isna().tolist() == [False, True]
    for wrong, says in (("31.3.2024", "row 0 holds '31.3.2024'"), (7, "must hold dates")):
        with pytest.raises(TableError, match=says):
            schema.conform(frame.assign(d=wrong), name="t")


def test_kinds_of_odd_columns():
    assert column_kind(pd.Series([True, None], dtype=object)) == "number"
    assert column_kind(pd.Series([], dtype=object)) == "category"
    assert column_kind(pd.Series(pd.Categorical([]))) == "category"


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([True, False] * 10).astype("category"),
        pd.Series([1, 2] * 10).astype("category"),
        pd.Series([True, False] * 10, dtype=pd.ArrowDtype(pa.bool_())),
        pd.Series([True, False] * 10, dtype="boolean"),
    ],
    ids=["category of booleans", "category of numbers", "arrow", "nullable"],
)
def test_what_is_no_number_of_seconds_is_no_time_stamp(values):
    frame = pd.DataFrame({"created_at": values, "x": np.arange(20.0) % 3})
    uses = choose_features(frame, {}, name="t.csv")
    assert "time stamp" not in str(uses)


def test_a_column_may_be_called_self():
    frame = pd.DataFrame({"self": list("ab") * 10, "x": np.arange(20.0) % 3})
    schema = Schema.from_uses(choose_features(frame, {}, name="t.csv"))
    assert schema.conform(frame, name="t.csv")["self"].tolist() == list("ab") * 10
