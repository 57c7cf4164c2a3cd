"""The one way in: what a caller passes is checked here and nowhere else."""
