"""Graph-network front end: data sets, A2Q training, export to a BitGraph."""
