"""Runs a target in processes of its own, in which it may do what it likes, and gives one answer a case."""
