"""An answer without fitting: one network, trained once on made-up tables, for small tables.

The training program is ``training/incontext`` of the repository; ``card.md`` beside the weights
says how they were made.
"""

from groupwise.incontext.classifier import InContextClassifier, LongContextWarning

__all__ = ["InContextClassifier", "LongContextWarning"]
