"""A column of text against the matrix of its word counts: sessions of newsgroups and of Reuters.

Run ``python benchmarks/bench_text.py`` with ``GROUPWISE_DATA`` set. Documents are put together into
sessions of three, words rebuilt from the counts. The text goes the way of the command line (the
encoder is fitted inside each training part), the counts straight into the same logistic
regression, as they are and as logarithms. Five folds of whole sessions.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from harness import Report
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from groupwise.datasets import data_folder, make_sessions
from groupwise.jobs import Job, make_supervision
from groupwise.majority import NaiveGroupClassifier
from groupwise.tables import as_table

NEWSGROUPS = [
    ("rec.autos", "rec.motorcycles"),
    ("sci.space", "sci.med"),
    ("talk.politics.guns", "talk.politics.mideast"),
]
Task = tuple[str, csr_matrix, np.ndarray, np.ndarray]


def counts(parts: np.lib.npyio.NpzFile) -> csr_matrix:
    indices = parts["indices"].astype("int32")
    return csr_matrix(
        (parts["data"].astype(float), indices, parts["indptr"]), shape=tuple(parts["shape"])
    )


def tasks() -> Iterator[Task]:
    """Name, counts, classes and words."""
    with np.load(data_folder("20newsgroups", "20news_bydate_counts.npz")) as parts:
        X, names, target = counts(parts), [str(n) for n in parts["target_names"]], parts["target"]
        for pair in NEWSGROUPS:
            codes = [names.index(name) for name in pair]
            keep = np.flatnonzero(np.isin(target, codes))[::2]
            yield " / ".join(pair), X[keep], (target[keep] == codes[1]).astype(int), parts["vocab"]
    labels = pd.read_csv(
        data_folder("reuters21578", "reuters21578_labels.csv.gz"), keep_default_na=False
    ).set_index("newid")
    with np.load(data_folder("reuters21578", "reuters21578_counts.npz")) as parts:
        X, labels, words = counts(parts), labels.loc[parts["newid"]], parts["vocab"]
    topics = labels["topics"].str.split(" ")
    pairs = {
        "Reuters orgs / people": (labels["orgs"] != "", labels["people"] != ""),
        "Reuters money-fx / crude": tuple(
            topics.map(lambda found, name=name: name in found) for name in ("money-fx", "crude")
        ),
    }
    for name, (first, second) in pairs.items():
        keep = np.flatnonzero(first.to_numpy() ^ second.to_numpy())[:1200]
        yield name, X[keep], second.to_numpy()[keep].astype(int), words


def judge(task: Task) -> dict[str, object]:
    name, X, y, vocabulary = task
    data = make_sessions(np.arange(len(y))[:, None], y, size=3, n_other=(0, 1), random_state=0)
    at, words = data.X[:, 0].astype(int), vocabulary.astype(str)
    text = [
        " ".join(np.repeat(words[X.indices[a:b]], X.data[a:b].astype(int)))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    frame = pd.DataFrame({"session": data.groups, "text": np.array(text, dtype=object)[at]})
    frame["kind"] = np.where(data.y == 1, "b", "a")
    supervision = make_supervision("majority", group="session", label="kind")
    job = Job.from_table(as_table(frame), supervision)
    logs = X.copy()
    logs.data = np.log1p(logs.data)
    right: dict[str, list[np.ndarray]] = {"text": [], "counts": [], "log counts": []}
    for train, test in job.splits(5):
        held = job.targets.take(test)
        model = job.fit(job.method("naive-logistic"), {}, train)
        found = model.predictions(job.features.iloc[test], held.groups)
        right["text"].append(supervision.judge(found, held))
        codes = job.targets.groups.codes
        for way, matrix in (("counts", X), ("log counts", logs)):
            clf = NaiveGroupClassifier(LogisticRegression(max_iter=2000))
            clf.fit(matrix[at[train]], job.targets.y[train], groups=codes[train])
            said = clf.predict_groups(matrix[at[test]], codes[test])
            right[way].append((said == held.y[held.groups.first_rows]).astype(float))
    scores = {way: np.concatenate(parts) for way, parts in right.items()}
    best = max(("counts", "log counts"), key=lambda way: scores[way].mean())
    difference = scores["text"] - scores[best]
    return {
        "task": name,
        "sessions": len(difference),
        **{way: round(float(values.mean()), 3) for way, values in scores.items()},
        "text less the better": round(float(difference.mean()), 3),
        "s.e.": round(float(difference.std() / np.sqrt(len(difference))), 3),
    }


def main() -> None:
    report = Report("text", "Text columns and matrices of word counts")
    note = "Shares of sessions right, five folds; the difference is paired, over sessions."
    report.add("sessions of three documents", [judge(task) for task in tasks()], note)


if __name__ == "__main__":
    main()
