"""Boosted models as ONNX graphs, with their links and group rules (extra ``onnx``)."""

from groupwise.onnx.convert import to_onnx

__all__ = ["to_onnx"]
