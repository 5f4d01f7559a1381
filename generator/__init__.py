"""Runs the Flax references and turns what they return into golden files."""
