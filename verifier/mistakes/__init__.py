"""Known mistakes: the catalogue of wrong implementations whose output can be computed, and the diagnosis by it."""
