"""Graph engine: config, program format, lowering, units and the accelerator's top."""
