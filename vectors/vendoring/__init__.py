"""Copying golden files into another project: what a copy holds, whether it is whole, what an update changes."""
