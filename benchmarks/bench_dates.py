"""Tables with and without their column of dates: the two real sets that have one, and one made up.

Run ``python benchmarks/bench_dates.py`` with ``GROUPWISE_DATA`` set. Recordings of a wrist are
judged on new volunteers, groups of three Reuters documents of a day and topic on new days; of both
the date is real. Made up: visits by day and hour, whose label is whether they were at a weekend.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from harness import Report

from groupwise.datasets import data_folder
from groupwise.jobs import JobOptions

TOPICS = [("earn", "acq"), ("money-fx", "crude"), ("trade", "grain")]
#: Name, table, other columns, what no fold divides, method.
Task = tuple[str, pd.DataFrame, list[str], str | None, str]


def recordings() -> Task:
    """Activities that five volunteers or more have done, in windows of two seconds."""
    with np.load(data_folder("sessions", "hmp_wrist_accelerometer.npz")) as parts:
        session, of_session = parts["session"].astype(int), {k: parts[k] for k in parts.files}
    rows = pd.DataFrame(of_session["xyz"].astype(float), columns=list("xyz"))
    second = rows.groupby(session).cumcount() // 64
    table = rows.groupby([session, second]).agg(["mean", "std"]).dropna()
    table.columns = ["_".join(names) for names in table.columns]
    columns, at = list(table.columns), table.index.get_level_values(0).to_numpy()
    table = table.reset_index(drop=True).assign(
        group=[f"s{k}" for k in at],
        who=of_session["volunteer"][at],
        label=of_session["activity"][at],
        when=[f"{t[:10]} {t[11:].replace('-', ':')}" for t in of_session["timestamp"][at]],
    )
    kept = table.groupby("label")["who"].transform("nunique") >= 5
    table = table[kept].reset_index(drop=True)
    return "recordings of a wrist", table, columns, "who", "statistics"


def documents() -> Iterator[Task]:
    """Documents by their length and first place."""
    labels = pd.read_csv(
        data_folder("reuters21578", "reuters21578_labels.csv.gz"), keep_default_na=False
    ).set_index("newid")
    with np.load(data_folder("reuters21578", "reuters21578_counts.npz")) as parts:
        labels = labels.loc[parts["newid"]].reset_index()
        of_row = np.repeat(np.arange(len(labels)), np.diff(parts["indptr"]))
        labels["words"] = np.bincount(of_row, parts["data"], minlength=len(labels))
    labels["label"] = labels["topics"].str.split(" ").str[0]
    labels["place"] = labels["places"].str.split(" ").str[0]
    stamp = labels["date"].str.extract(r"(\d{1,2}-[A-Z]{3}-\d{4} [\d:]{8})")[0]
    when = pd.to_datetime(stamp, format="%d-%b-%Y %H:%M:%S", errors="coerce")
    labels["when"] = when.dt.strftime("%Y-%m-%d %H:%M:%S")
    labels["day"] = labels["when"].str[:10]
    for pair in TOPICS:
        table = labels[labels["label"].isin(pair) & labels["when"].notna()]
        table = table[:: 4 if "earn" in pair else 1].reset_index(drop=True)
        place = (table.groupby(["day", "label"]).cumcount() // 3).astype(str)
        table["group"] = table["day"] + " " + table["label"] + " " + place
        yield f"Reuters {' / '.join(pair)}", table, ["words", "place"], "day", "group-boost"


def visits() -> Task:
    """Sessions of one day: at a weekend or not, and a number that tells little of it."""
    rng = np.random.RandomState(0)
    day = np.repeat(pd.date_range("2024-01-01", periods=300).to_numpy(), 4)
    weekend = pd.Series(day).dt.weekday.to_numpy() >= 5
    hour = pd.to_timedelta(rng.randint(24, size=len(day)), unit="h")
    table = pd.DataFrame({"x": rng.normal(size=len(day)) + 0.3 * weekend, "when": day + hour})
    table["group"] = [f"d{k // 4}" for k in range(len(day))]
    return "made up: weekends", table.assign(label=weekend.astype(str)), ["x"], None, "group-boost"


def judge(task: Task) -> dict[str, object]:
    name, table, columns, whole, method = task
    scores = {}
    for way, wanted in (("without", columns), ("with", [*columns, "when"]), ("alone", ["when"])):
        job, _ = JobOptions(
            table=table, group="group", label="label", keep_whole=whole, wanted=wanted
        ).job()
        result = job.judge(job.method(method), {}, n_splits=5)
        scores[way] = result.unit_scores()[method].sort_index()
    gain = (scores["with"] - scores["without"]).to_numpy()
    label = table.groupby("group")["label"].first()
    return {
        "set": name,
        "method": method,
        "groups": len(gain),
        "commonest class": round(float(label.value_counts(normalize=True).iloc[0]), 3),
        "without dates": round(float(scores["without"].mean()), 3),
        "with dates": round(float(scores["with"].mean()), 3),
        "dates alone": round(float(scores["alone"].mean()), 3),
        "gain": round(float(gain.mean()), 3),
        "s.e.": round(float(gain.std() / np.sqrt(len(gain))), 3),
    }


def main() -> None:
    report = Report("dates", "Columns of dates")
    note = "Shares of groups right, five folds of whole volunteers, or days; the gain is paired."
    tasks = [recordings(), *documents(), visits()]
    report.add("with and without", [judge(task) for task in tasks], note)


if __name__ == "__main__":
    main()
