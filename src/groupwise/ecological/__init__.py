"""Two margins of many tables are known (who lives in a precinct, how it voted), not the cells."""

from groupwise.ecological.bounds import cell_bounds
from groupwise.ecological.goodman import GoodmanRegression
from groupwise.ecological.inference import EcologicalInference

__all__ = ["EcologicalInference", "GoodmanRegression", "cell_bounds"]
