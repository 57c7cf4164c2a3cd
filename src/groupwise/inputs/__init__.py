"""The one way in: what a caller passes is checked here and nowhere else.

Each kind of knowledge has a file and a frozen value that holds it once it is checked: labels
(:class:`GroupedRows`), shares and counts (:class:`ShareRows`), numbers (:class:`TotalRows`),
candidate classes (:class:`CandidateRows`), domains (:class:`DomainRows`).
"""

from groupwise.inputs.candidates import CandidateRows, candidates_of_labels, check_candidates
from groupwise.inputs.domains import (
    DomainRows,
    check_domains,
    domain_codes,
    domain_shares,
    find_target_rows,
)
from groupwise.inputs.labels import GroupedRows, check_known_classes, check_labels, class_codes
from groupwise.inputs.parameters import (
    ClassWeight,
    check_choice,
    check_class_weight,
    check_flag,
    check_number,
)
from groupwise.inputs.rows import (
    LARGEST_VALUE,
    check_groups,
    check_rows,
    check_weights,
    dense,
    expecting,
    expecting_rows_for,
    known_categories,
    refuse_size,
    split_column,
    take_rows_like,
)
from groupwise.inputs.shares import (
    SHARE_TOLERANCE,
    ShareRows,
    as_counts,
    check_shares,
    class_counts,
    class_shares,
    is_table,
    whole_counts,
)
from groupwise.inputs.totals import (
    TotalRows,
    check_totals,
    group_means,
    group_numbers,
    group_totals,
)

__all__ = [
    "LARGEST_VALUE",
    "SHARE_TOLERANCE",
    "CandidateRows",
    "ClassWeight",
    "DomainRows",
    "GroupedRows",
    "ShareRows",
    "TotalRows",
    "as_counts",
    "candidates_of_labels",
    "check_candidates",
    "check_choice",
    "check_class_weight",
    "check_domains",
    "check_flag",
    "check_groups",
    "check_known_classes",
    "check_labels",
    "check_number",
    "check_rows",
    "check_shares",
    "check_totals",
    "check_weights",
    "class_codes",
    "class_counts",
    "class_shares",
    "dense",
    "domain_codes",
    "domain_shares",
    "expecting",
    "expecting_rows_for",
    "find_target_rows",
    "group_means",
    "group_numbers",
    "group_totals",
    "is_table",
    "known_categories",
    "refuse_size",
    "split_column",
    "take_rows_like",
    "whole_counts",
]
