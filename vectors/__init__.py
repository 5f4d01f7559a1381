"""The golden files, and everything that is known about golden values without running JAX."""
