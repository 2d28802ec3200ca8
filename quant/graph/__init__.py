"""The BitGraph: a network whose tensors say how many bits each of their values has."""
