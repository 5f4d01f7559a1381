"""The commands of ``posvec``: each parses, calls, renders and returns an exit status."""
