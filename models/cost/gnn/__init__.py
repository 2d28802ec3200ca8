"""Cost model of the graph engine: statistics first, then cycles, events, energy and area."""
