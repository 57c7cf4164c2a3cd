"""Training of the in-context network of :mod:`groupwise.incontext`."""
