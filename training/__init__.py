"""Programs that make what the package ships; not part of the package."""
