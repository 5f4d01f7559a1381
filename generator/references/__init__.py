"""The reference functions: one file a suite, each with its source."""
