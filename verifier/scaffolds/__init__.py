"""Programs that do everything of the protocol except the function under test: one for each language."""
