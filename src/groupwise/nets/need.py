"""What is said where torch is not installed."""

__all__ = ["NEEDS_TORCH"]

NEEDS_TORCH = (
    "groupwise.nets trains with torch: the extra groupwise[nets] brings it "
    "(fitted models with encoder=(sizes) predict without it)"
)
