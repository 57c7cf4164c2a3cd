"""One comparison of the field on the same folds: sets, methods (ours and peers), cells, pages.

No part of the package: ``python -m arena run presence --jobs 2`` from a checkout, with
``GROUPWISE_DATA`` set. Peers live in environments of their own (``python -m arena install``) and
are asked through files that hold no test labels (:mod:`arena.worker`).
"""
