"""The test suite, by layer."""
