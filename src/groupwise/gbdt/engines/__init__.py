"""The boosting libraries that can grow trees on a group loss, one file each."""
