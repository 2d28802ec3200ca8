"""Golden model of the graph engine."""
