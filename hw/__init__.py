"""Hardware of Bitwright in Amaranth: shared units here, one folder for each engine."""
