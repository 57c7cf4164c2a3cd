"""Who takes part in each room: our methods, plain baselines, peers."""

from dataclasses import dataclass

from arena.problem import Problem
from groupwise.methods import METHODS as TABLE

__all__ = ["ENTRIES", "Entry", "entries_of", "get_entry"]


@dataclass(frozen=True)
class Entry:
    """A method in a room.

    Attributes
    ----------
    room, name : str
    maker : {"groupwise", "baseline"} or the name of a peer
        Also tells the environment.
    function : str
        The key in ``METHODS`` of the environment's file.
    n_classes : int, default=None
        The most classes it takes.
    max_rows : int, default=None
        The most training rows it is given.
    """

    room: str
    name: str
    maker: str
    function: str
    n_classes: int | None = None
    max_rows: int | None = None

    @property
    def environment(self) -> str:
        """Where it runs."""
        return "groupwise" if self.maker == "baseline" else self.maker

    def reason_against(self, problem: Problem, n_rows: int) -> str | None:
        """Why it cannot be used, or ``None``."""
        if self.n_classes is not None and problem.n_classes > self.n_classes:
            return f"is for {self.n_classes} classes, there are {problem.n_classes}"
        if self.max_rows is not None and n_rows > self.max_rows:
            return f"is for up to {self.max_rows:,} rows, there are {n_rows:,}"
        return None


#: Of each room, the cheap and the strong of our table; all of it takes part inside ``auto``.
_OURS = {
    "presence": ("noisy-or-boost", "miles", "set-kernel", "fisher-vectors", "statistics"),
    "proportions": ("manifold", "group-boost", "linear-counts", "mean-map"),
    "majority": ("group-boost", "sboost", "statistics"),
    "measure": ("expected-measure", "threshold", "adaboost-group"),
    "transfer": ("balanced", "tradaboost", "equal-mass", "source-prior"),
}
_BASELINES = {
    "presence": ("LightGBM, mean of rows", "logistic on means"),
    "proportions": ("LightGBM on shares", "logistic on means"),
    "majority": ("LightGBM, mean of rows", "logistic on means"),
    "measure": ("LightGBM on rows", "logistic on rows"),
    "transfer": ("LightGBM, all rows", "logistic, all rows", "logistic, target only"),
}
# In majority they are asked as a user would: the label is the group's, whatever it means.
_PEERS = (
    ("presence", "torchmil", "ABMIL", 2, None),
    ("presence", "torchmil", "DSMIL", 2, None),
    ("presence", "sawmil", "NSK", 2, 5000),
    ("presence", "mil", "MILES", 2, 2000),
    ("presence", "autogluon", "on means", None, None),
    ("proportions", "llp-learn", "EM", 2, None),
    ("proportions", "llp-learn", "LLP-VAT", 2, None),
    ("majority", "torchmil", "ABMIL", 2, None),
    ("majority", "sawmil", "NSK", 2, 5000),
    ("majority", "autogluon", "on means", None, None),
    ("transfer", "adapt", "TrAdaBoost, logistic", 2, None),
    ("transfer", "adapt", "TrAdaBoost, trees", 2, None),
    ("transfer", "skada", "CORAL", None, None),
    ("transfer", "skada", "linear transport", None, None),
)


def _all_entries() -> list[Entry]:
    table = {(m.kind, m.name): m for m in TABLE}
    entries = []
    for room, names in _OURS.items():
        for name in _BASELINES[room]:
            entries.append(Entry(room, name, "baseline", f"{room}/{name}"))
        for name in names:
            own = table[room, name]
            limits = (own.n_classes, own.max_rows)
            entries.append(Entry(room, name, "groupwise", f"{room}/{name}", *limits))
        for of, peer, name, n_classes, max_rows in _PEERS:
            if of == room:
                entries.append(Entry(room, f"{peer} {name}", peer, name, n_classes, max_rows))
        entries.append(Entry(room, "auto", "groupwise", f"{room}/auto"))
    return entries


ENTRIES = _all_entries()


def entries_of(room: str) -> list[Entry]:
    """The methods of a room, in the order in which they are run."""
    return [entry for entry in ENTRIES if entry.room == room]


def get_entry(room: str, name: str) -> Entry:
    """A method by its name.

    Raises
    ------
    ValueError
        If the room has no such method.
    """
    of_room = {entry.name: entry for entry in entries_of(room)}
    if name not in of_room:
        raise ValueError(f"{room} has no method {name!r}; it has {', '.join(of_room)}")
    return of_room[name]
