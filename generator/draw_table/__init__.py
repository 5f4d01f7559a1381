"""Makes ``vectors/draws.h5``: records what each JAX build computes for each draw, proves, and writes."""
