"""The command line: one module for each verb, with its arguments and its `run`."""
