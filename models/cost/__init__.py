"""Cost models: event counts, cycles, energy (low, nominal, high) and area.

Assumptions, one a line:

- Nothing here is silicon of this project: joules and square micrometres are estimates with a band.
- 28 nm, 0.9 V, 25 C; 45 nm figures are scaled by 0.53 (0.41 to 0.65) in energy, 0.38 in area.
- A multiplier is the law fitted to the synthesis of square PEs; different widths extrapolate it.
- A multiplier's price includes its registers; the rounding shifters behind it are not priced.
- An action costs the same whatever the data: toggling is the table's average.
- A bit-serial lane pays its weight gate and its adder in the tree only if it holds a value.
- Memories follow a fit of CACTI (single-ported, one bank) from 2 to 512 KB, used beyond it too.
- Memories below 512 bytes are flip-flops; an access then costs the load of one word.
- Not priced: clock tree, sequencer, DMA control, decoders, encoders, address counters, registers.
- Leakage of the buffers is a line of its own and never part of an energy.
- DRAM: every AXI burst opens a row of its own and is padded to the memory's own burst.
- DRAM figures count what their source counts (device, or device and I/O); no controller, no PHY
  unless the source has them; refresh and background power are left out.
- Time is predicted for a memory of fixed latency that moves a beat a cycle each way.
- A read stream's bursts are followed until its FIFO was full once; later ones come ahead of need.
- The two write streams never wait for each other.
- Hidden features' zeros are those that the golden model finds; nothing is assumed about sparsity.
"""
