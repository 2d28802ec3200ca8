"""cocotb benches: each module's tests run inside a simulator that `sim.build` compiled."""
