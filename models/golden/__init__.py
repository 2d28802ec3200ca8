"""Golden models: bit-exact execution of Programs in NumPy integers."""
