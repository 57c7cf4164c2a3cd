"""Plain files for the tutorials, from the data sets that GROUPWISE_DATA names.

``python docs/tutorials/files.py [FOLDER]`` writes them all; a function writes those of one page.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from groupwise.datasets import data_folder


def wearable(folder: Path) -> None:
    """Windows of a phone's accelerometer; a session is what one person did in one go."""
    rows = pd.read_csv(data_folder() / "sessions" / "wisdm_v1.1_transformed.csv.gz")
    rows.columns = [column.lower() for column in rows.columns]
    session = (
        rows["user"].astype(str)
        + "-"
        + rows.groupby("user")["activity"].transform(
            lambda values: pd.factorize(values)[0].astype(str)
        )
    )
    some = rows.assign(session=session).groupby("session").head(12)
    names = ["session", "user", "activity"]
    some[names + [c for c in some if c not in names]].to_csv(folder / "windows.csv", index=False)


def precincts(folder: Path) -> None:
    """People with what a register knows of them, and totals by precinct in a second file."""
    people = pd.read_csv(data_folder() / "llp" / "adult.csv.gz", nrows=4000)
    label = people.columns[-1]
    rng = np.random.RandomState(0)
    schooling = people["educational_num"] + rng.normal(scale=3, size=len(people))
    place = (schooling.rank(method="first") - 1) // 50  # neighbours went to like schools
    people["precinct"] = [f"P{k:02.0f}" for k in place]
    rich = people[label] == ">50K"
    counts = pd.crosstab(people["precinct"], np.where(rich, "above", "below"))
    counts.to_csv(folder / "totals.csv")
    people.drop(columns=label).to_csv(folder / "people.csv", index=False)


def molecules(folder: Path) -> None:
    """Shapes of molecules as UCI gives them: no line of names."""
    shapes = pd.read_csv(data_folder() / "mil" / "musk1.csv.gz")
    features = [c for c in shapes if c.startswith("f")]
    table = shapes[["bag", *features, "bag_label"]].assign(bag="MOL-" + shapes["bag"].astype(str))
    table.to_csv(folder / "clean1.data", index=False, header=False)


def mails(folder: Path) -> None:
    """Mails of users, as counts of the words that come most often."""
    stored = np.load(data_folder() / "ecml_pkdd2006_spam" / "task_b.npz")
    parts = (stored["data"].astype(float), stored["indices"].astype("int32"), stored["indptr"])
    counts = csr_matrix(parts, shape=tuple(stored["shape"]))
    inbox = np.flatnonzero(stored["user"] >= 0)
    inbox = np.concatenate([inbox[stored["user"][inbox] == u][::4] for u in range(15)])
    common = np.sort(np.argsort(-np.asarray((counts > 0).sum(axis=0)).ravel())[:60])
    table = pd.DataFrame(
        counts[inbox][:, common].toarray().astype(int), columns=[f"word_{k}" for k in common]
    )
    table.insert(0, "user", [f"user {u:02d}" for u in stored["user"][inbox]])
    table.insert(1, "mail", np.arange(len(table)))
    table["spam"] = np.where(stored["is_spam"][inbox] > 0, "yes", "no")
    table.to_csv(folder / "mails.csv", index=False)


def mushrooms(folder: Path) -> None:
    """Mushrooms with one shape of stalk, all labelled, and a few with another, most of them not."""
    table = pd.read_csv(data_folder() / "uci" / "mushroom.csv.gz", keep_default_na=False)
    rng = np.random.RandomState(0)
    new = table[table["stalk_shape"] == "t"].sample(800, random_state=rng)
    new["class"] = new["class"].where(np.arange(len(new)) < 60, "")
    old = table[table["stalk_shape"] == "e"].sample(1500, random_state=rng)
    old.to_csv(folder / "old.csv", index=False)
    new.to_csv(folder / "new.csv", index=False)


PAGES = {
    "wearable": wearable,
    "precincts": precincts,
    "molecules": molecules,
    "mails": mails,
    "mushrooms": mushrooms,
}

if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for write in PAGES.values():
        write(target)
