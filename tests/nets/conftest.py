import pytest

pytest.importorskip("torch", reason="torch is not installed: the extra groupwise[nets]")
