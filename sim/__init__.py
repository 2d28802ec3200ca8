"""Simulation: test benches, build cache, comparison of the three witnesses, command line."""
