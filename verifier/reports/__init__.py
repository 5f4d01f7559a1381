"""Reports of a run, one file a kind: for programs, CI services, graders and people."""
