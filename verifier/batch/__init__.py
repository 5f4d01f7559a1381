"""Many submissions, each verified alone: found, read, run on any executor, and told of in a table and reports."""
