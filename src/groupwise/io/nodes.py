"""The tree of a model file (``schema.json``), read as JSON before skops makes anything of it."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

from groupwise.io.errors import ModelFileError
from groupwise.io.loadable import BIT_GENERATORS, KEY_TYPES, LOADABLE, SKLEARN

__all__ = ["PROTOCOL", "check_tree"]

#: Of skops: the one whose loaders the tables were written for.
PROTOCOL = 2

# Where a node stands: what the loader above it does with what it makes.
_VALUE, _KEYS, _BITS = "a value", "the types of keys", "the state of a bit generator"

Node = dict[str, Any]


def check_tree(schema: Any, members: frozenset[str]) -> list[str]:
    """Refuse a tree that asks for anything but what a model is made of.

    Parameters
    ----------
    schema : object
        The parsed JSON.
    members : frozenset of str
        The files of the archive that a node may name.

    Returns
    -------
    names : list of str
        ``module.Class`` of everything the tree holds, for skops to trust.

    Raises
    ------
    ModelFileError
        Naming the first loader or class that is not on the list.
    """
    if not isinstance(schema, dict) or schema.get("protocol") is not PROTOCOL:
        protocol = schema.get("protocol") if isinstance(schema, dict) else None
        raise ModelFileError(f"protocol {protocol!r} of skops is not known (only {PROTOCOL})")
    names: set[str] = set()
    by_id: dict[int, tuple[Any, ...]] = {}
    waiting: list[tuple[str, Any]] = [(_VALUE, schema)]
    while waiting:
        place, node = waiting.pop()
        if not isinstance(node, dict):
            raise ModelFileError(f"a node must be an object, got {type(node).__name__}")
        loader, name = _check_node(node, members)
        _check_id(node, (place, loader, name), by_id)
        if place == _KEYS:
            _check_keys(node, loader)
        elif place == _BITS:
            _check_bits(node, loader)
        names.add(name)
        waiting.extend(_children(node, loader))
    return sorted(names)


def _check_node(node: Node, members: frozenset[str]) -> tuple[str, str]:
    """Loader and class of a node, both on the list."""
    loader, module, cls = (node.get(key) for key in ("__loader__", "__module__", "__class__"))
    if not (isinstance(loader, str) and isinstance(module, str) and isinstance(cls, str)):
        raise ModelFileError("a node names no loader, module or class")
    name = f"{module}.{cls}"
    if "." in cls:
        raise ModelFileError(f"{cls!r} is no name of a class")
    if loader not in LOADABLE:
        raise ModelFileError(f"{loader} of {name} would call what the file names")
    if name not in LOADABLE[loader] and not (loader == "ObjectNode" and _is_sklearn(module, cls)):
        raise ModelFileError(f"a model has no use for {name} ({loader})")
    if loader == "JsonNode" and not isinstance(node.get("content"), str):
        raise ModelFileError("a JsonNode holds no text")
    if "file" in node and node["file"] not in members:
        raise ModelFileError(f"a node names the file {node['file']!r}, which is not there")
    return loader, name


def _is_sklearn(module: str, cls: str) -> bool:
    """Whether this is where a listed estimator of scikit-learn is defined."""
    for public, names in SKLEARN.items():
        if cls in names.split() and (module == public or module.startswith(f"{public}.")):
            # imports what the table names, never what the file names
            found = getattr(importlib.import_module(public), cls, None)
            return isinstance(found, type) and found.__module__ == module
    return False


def _check_id(node: Node, is_: tuple[Any, ...], by_id: dict[int, tuple[Any, ...]]) -> None:
    """Refuse a number that stands for two things.

    skops takes the first node of a number wherever the number comes again, so a node that is
    harmless where it stands could be used elsewhere.
    """
    number = node.get("__id__")
    if number is None:
        return
    if not isinstance(number, int) or isinstance(number, bool):
        raise ModelFileError(f"a node is numbered {number!r}")
    if is_[1] == "JsonNode":
        is_ = ("text", *is_[1:], node["content"])  # the same wherever it stands
    elif is_[1] == "TypeNode":
        is_ = ("type", *is_[1:])
    if by_id.setdefault(number, is_) != is_:
        raise ModelFileError(f"the number {number} stands for two different nodes")


def _check_keys(node: Node, loader: str) -> None:
    """The types of a dictionary's keys are called, each with a text: plain ones only."""
    content = node.get("content")
    if loader != "ListNode" or not isinstance(content, list):
        raise ModelFileError("the types of keys are no list")
    for child in map(_mapping, content):
        name = f"{child.get('__module__')}.{child.get('__class__')}"
        if child.get("__loader__") != "TypeNode" or name not in KEY_TYPES:
            raise ModelFileError(f"keys of a dictionary cannot be made by {name}")


def _check_bits(node: Node, loader: str) -> None:
    """The bit generator is called by the name that its own state holds."""
    content = node.get("content")
    name = content.get("bit_generator") if isinstance(content, dict) else None
    if loader != "DictNode" or not isinstance(name, dict) or name.get("__loader__") != "JsonNode":
        raise ModelFileError("a random generator has no state")
    if json.loads(name["content"]) not in BIT_GENERATORS:
        raise ModelFileError(f"numpy has no bit generator {name['content']}")


def _children(node: Node, loader: str) -> Iterator[tuple[str, Any]]:
    """The nodes below, as the loader of this name finds them, and where they stand."""
    content = node.get("content")
    if loader in ("BytesNode", "FunctionNode", "JsonNode", "SparseMatrixNode", "TypeNode"):
        return
    if loader == "SliceNode":
        _check_slice(content)
    elif loader == "DictNode":
        yield _KEYS, node.get("key_types")
        yield from ((_VALUE, child) for child in _mapping(content).values())
    elif loader in ("ListNode", "SetNode", "TupleNode"):
        yield from ((_VALUE, child) for child in _sequence(content))
    elif loader == "NdArrayNode":
        if node.get("type") == "json":
            yield from ((_VALUE, child) for child in _sequence(content))
            yield _VALUE, node.get("shape")
    elif loader == "RandomGeneratorNode":
        yield _BITS, _mapping(content).get("bit_generator")
        yield _VALUE, _mapping(content).get("seed_seq")
    elif loader in ("TreeNode", "LossNode"):
        yield _VALUE, content
        yield _VALUE, _mapping(node.get("__reduce__")).get("args")
    elif loader != "ObjectNode" or content is not None:  # an object may have no attributes
        yield _VALUE, content


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ModelFileError("a node lacks its content")
    return value


def _sequence(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ModelFileError("a node lacks its content")
    return value


def _check_slice(content: Any) -> None:
    bounds = _mapping(content)
    if any(not isinstance(bounds.get(key), int | None) for key in ("start", "stop", "step")):
        raise ModelFileError("a slice is bounded by numbers")
