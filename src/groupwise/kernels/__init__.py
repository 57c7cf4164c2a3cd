"""Gram matrices, neighbour graphs, kernels deformed by a graph, and kernels as features."""

from groupwise.kernels.deformed import DeformedGram, FeaturePath, deform
from groupwise.kernels.features import LandmarkFeatures
from groupwise.kernels.gram import KERNELS, MAX_DENSE, Kernel, check_dense, fit_kernel
from groupwise.kernels.graph import NeighbourGraph
from groupwise.kernels.sets import (
    hausdorff_distances,
    largest_similarity,
    set_kernel,
    set_norms,
)
from groupwise.kernels.shared import share_kernels

__all__ = [
    "KERNELS",
    "MAX_DENSE",
    "DeformedGram",
    "FeaturePath",
    "Kernel",
    "LandmarkFeatures",
    "NeighbourGraph",
    "check_dense",
    "deform",
    "fit_kernel",
    "hausdorff_distances",
    "largest_similarity",
    "set_kernel",
    "set_norms",
    "share_kernels",
]
