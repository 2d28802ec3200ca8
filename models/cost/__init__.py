"""Cost models: event counts, cycles, energy (low, nominal, high) and area."""
