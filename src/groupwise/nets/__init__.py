"""Networks on group losses, trained by torch."""
