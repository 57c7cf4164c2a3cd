"""Every method on the same folds of whole groups, in steps that survive being killed."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from groupwise.files import is_part, parse_json, write_text
from groupwise.jobs.fold_result import FoldResult
from groupwise.jobs.job import Job
from groupwise.jobs.result import Result, RunInfo
from groupwise.methods import Method, methods_for
from groupwise.tables import OptionError, TableError

__all__ = ["Comparison", "Step"]

# What has to be the same for a finished fold to count in a continued run.
_SAME = ("fingerprint", "supervision", "columns", "seed", "n_splits", "search", "keep_whole")


@dataclass(frozen=True)
class Step:
    """One method on one fold."""

    method: Method
    fold: int


class Comparison:
    """A comparison that is stored in a folder, fold by fold.

    Parameters
    ----------
    job : Job
    folder : Path
        ``plan.json`` says what is compared, ``folds/`` holds one file per finished fold and
        ``result.json`` the whole once all are there.
    methods : sequence of str, default=()
        Names; none: all that apply.
    n_splits : int, default=5
    search : bool, default=True
        Whether each method's small search runs inside each training part.
    command : str, default=""
        For the record.
    """

    def __init__(
        self,
        job: Job,
        folder: Path,
        *,
        methods: Sequence[str] = (),
        n_splits: int = 5,
        search: bool = True,
        command: str = "",
    ):
        self.job, self.folder, self.search = job, Path(folder), search
        self.chosen, self.left_out = _applicable(job, methods)
        self.splits = job.splits(n_splits)
        self.about = job.about(command=command, n_splits=len(self.splits), search=search)

    def steps(self) -> list[Step]:
        """The folds that are not there yet; checks that those that are belong to this job."""
        self._check_plan()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / "plan.json", json.dumps(self.about.to_dict(), indent=1))
        (self.folder / "folds").mkdir(exist_ok=True)
        steps = [Step(m, fold) for fold in range(len(self.splits)) for m in self.chosen]
        return [step for step in steps if not self._file(step).exists()]

    def run(self, step: Step) -> None:
        """Do one step and store it; a method's own failure is stored as its reason."""
        try:
            fold = self.job.run_fold(
                step.method,
                {},
                self.splits[step.fold],
                search=self.search,
                curve=self.job.wants_curve(step.fold),
            )
            found = fold.to_dict()
        except (ValueError, ArithmeticError, RuntimeError, MemoryError) as error:
            found = {"failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        found["plan"] = self._plan_digest()
        write_text(self._file(step), json.dumps(found, allow_nan=False))

    def result(self) -> Result:
        """Put the finished folds together and store them."""
        methods, left_out = {}, dict(self.left_out)
        for method in self.chosen:
            stored = list(self._stored(method))
            folds = [fold for fold in stored if isinstance(fold, FoldResult)]
            failed = [fold for fold in stored if isinstance(fold, str)]
            if failed:
                left_out[method.name] = (
                    f"failed on {len(failed)} of {len(stored)} folds: {failed[0]}"
                )
            else:
                methods[method.name] = folds
        if not methods:
            reasons = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
            raise TableError(f"{self.job.table}: no method could be judged ({reasons})")
        result = Result(self.about, methods, left_out)
        result.save(self.folder / "result.json")
        return result

    def with_importance(self, result: Result, name: str) -> Result:
        """The result with what a method's held-out groups lose by shuffled columns.

        The method's folds are run again: to shuffle for all methods would take too long.
        """
        [method] = [method for method in self.chosen if method.name == name]
        again = [
            self.job.run_fold(method, {}, split, search=self.search, curve=False, importance=True)
            for split in self.splits
        ]
        folds = [
            replace(fold, importance=shuffled.importance)
            for fold, shuffled in zip(result.methods[name], again, strict=True)
        ]
        return replace(result, methods=result.methods | {name: folds})

    def _stored(self, method: Method) -> Iterator[FoldResult | str]:
        """Finished folds, or why they failed."""
        for fold in range(len(self.splits)):
            file = self._file(Step(method, fold))
            try:
                found = parse_json(file.read_text(encoding="utf-8"))
                plan = found.pop("plan")
                result = found["failed"] if "failed" in found else FoldResult.from_dict(found)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise TableError(f"{file} was altered; remove it and run again") from error
            if plan != self._plan_digest():
                raise TableError(
                    f"{file} belongs to a comparison with another plan; remove it and run again"
                )
            yield result

    def _plan_digest(self) -> str:
        """Of what has to be the same: written into every fold."""
        about = self.about.to_dict()
        text = json.dumps([about.get(key) for key in _SAME], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _file(self, step: Step) -> Path:
        return self.folder / "folds" / f"{step.method.name}.{step.fold}.json"

    @staticmethod
    def _is_foreign(path: Path) -> bool:
        """Whether this is more than a run leaves that was killed before its plan was written."""
        empty = path.name == "folds" and path.is_dir() and not any(path.iterdir())
        return not empty and not is_part(path, "plan.json")

    def _check_plan(self) -> None:
        plan = self.folder / "plan.json"
        if not plan.exists():
            if self.folder.exists() and any(map(self._is_foreign, self.folder.iterdir())):
                raise TableError(f"{self.folder} is not empty and holds no comparison")
            return
        try:
            before = RunInfo.from_dict(parse_json(plan.read_text(encoding="utf-8")))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise TableError(f"{plan} is no plan of a comparison") from error
        differing = [name for name in _SAME if getattr(before, name) != getattr(self.about, name)]
        if differing:
            raise TableError(
                f"{self.folder} holds a comparison with another {differing[0]}; take another "
                "folder, or remove it"
            )


def _applicable(job: Job, names: Sequence[str]) -> tuple[list[Method], dict[str, str]]:
    offered = {method.name: method for method in methods_for(job.supervision.kind)}
    unknown = [name for name in names if name not in offered]
    if unknown:
        raise OptionError(
            f"`kind` {job.supervision.kind} has no method {unknown[0]!r}; it has "
            f"{', '.join(offered)}"
        )
    wanted = [offered[name] for name in dict.fromkeys(names)] or list(offered.values())
    reasons = {m.name: job.reason_against(m) for m in wanted}
    chosen = [m for m in wanted if reasons[m.name] is None]
    return chosen, {name: reason for name, reason in reasons.items() if reason is not None}
