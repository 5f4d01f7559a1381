"""Runs an implementation against golden files and judges it. Never imports JAX."""
