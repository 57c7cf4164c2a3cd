"""The private scikit-learn names this library uses, in one place."""

from sklearn.ensemble._base import _set_random_states as set_random_states
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.utils._metadata_requests import _MetadataRequester as MetadataRequester

__all__ = ["GroupsConsumerMixin", "MetadataRequester", "set_random_states"]
