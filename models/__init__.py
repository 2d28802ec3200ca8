"""Models of the hardware: bit-exact golden models, cost models, published baselines."""
