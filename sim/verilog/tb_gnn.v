// Test bench of the graph engine: the engine, its memory, and taps on values that never reach
// memory. cocotb drives the clock, reset and AXI4-Lite and waits for the interrupt; everything
// that happens in every cycle happens here, in compiled code.
//
// `cycle` counts clock edges from power-up; all logs use it. Plusargs of its own:
//   tap_log=FILE      one line an event: "q cycle row" (a row of q that aggregation took from
//                     combination, hexadecimal), "irq cycle" (the interrupt rises)
//   trace_file=FILE trace_from=N   with TRACE defined: a VCD from that cycle to the end
// and those of axi_memory.v.
module tb_gnn #(
    parameter DATA_WIDTH = 64,
    parameter ADDR_WIDTH = 32,
    parameter ID_WIDTH = 4,
    parameter REGISTER_WIDTH = 12,
    parameter ROW_WIDTH = 128,
    parameter DEPTH = 524288
) (
    input  wire                      aclk,
    input  wire                      aresetn,
    input  wire                      dump,
    output wire                      irq,
    output wire [63:0]               now,
    output wire [31:0]               violations,

    input  wire [REGISTER_WIDTH-1:0] s_axi_awaddr,
    input  wire [2:0]                s_axi_awprot,
    input  wire                      s_axi_awvalid,
    output wire                      s_axi_awready,
    input  wire [31:0]               s_axi_wdata,
    input  wire [3:0]                s_axi_wstrb,
    input  wire                      s_axi_wvalid,
    output wire                      s_axi_wready,
    output wire [1:0]                s_axi_bresp,
    output wire                      s_axi_bvalid,
    input  wire                      s_axi_bready,
    input  wire [REGISTER_WIDTH-1:0] s_axi_araddr,
    input  wire [2:0]                s_axi_arprot,
    input  wire                      s_axi_arvalid,
    output wire                      s_axi_arready,
    output wire [31:0]               s_axi_rdata,
    output wire [1:0]                s_axi_rresp,
    output wire                      s_axi_rvalid,
    input  wire                      s_axi_rready
);
    reg [63:0] cycle;
    initial cycle = 0;
    always @(posedge aclk) cycle <= cycle + 1;
    assign now = cycle;

    wire [ID_WIDTH-1:0]     arid, rid, awid, bid;
    wire [ADDR_WIDTH-1:0]   araddr, awaddr;
    wire [7:0]              arlen, awlen;
    wire [2:0]              arsize, awsize;
    wire [1:0]              arburst, awburst, rresp, bresp;
    wire                    arvalid, arready, rlast, rvalid, rready;
    wire                    awvalid, awready, wlast, wvalid, wready, bvalid, bready;
    wire [DATA_WIDTH-1:0]   rdata, wdata;
    wire [DATA_WIDTH/8-1:0] wstrb;

    bitwright_gnn dut (
        .aclk(aclk), .aresetn(aresetn), .irq(irq),
        .s_axi_awaddr(s_axi_awaddr), .s_axi_awprot(s_axi_awprot),
        .s_axi_awvalid(s_axi_awvalid), .s_axi_awready(s_axi_awready),
        .s_axi_wdata(s_axi_wdata), .s_axi_wstrb(s_axi_wstrb),
        .s_axi_wvalid(s_axi_wvalid), .s_axi_wready(s_axi_wready),
        .s_axi_bresp(s_axi_bresp), .s_axi_bvalid(s_axi_bvalid), .s_axi_bready(s_axi_bready),
        .s_axi_araddr(s_axi_araddr), .s_axi_arprot(s_axi_arprot),
        .s_axi_arvalid(s_axi_arvalid), .s_axi_arready(s_axi_arready),
        .s_axi_rdata(s_axi_rdata), .s_axi_rresp(s_axi_rresp),
        .s_axi_rvalid(s_axi_rvalid), .s_axi_rready(s_axi_rready),
        .m_axi0_arid(arid), .m_axi0_araddr(araddr), .m_axi0_arlen(arlen),
        .m_axi0_arsize(arsize), .m_axi0_arburst(arburst), .m_axi0_arlock(), .m_axi0_arcache(),
        .m_axi0_arprot(), .m_axi0_arqos(),
        .m_axi0_arvalid(arvalid), .m_axi0_arready(arready),
        .m_axi0_rid(rid), .m_axi0_rdata(rdata), .m_axi0_rresp(rresp), .m_axi0_rlast(rlast),
        .m_axi0_rvalid(rvalid), .m_axi0_rready(rready),
        .m_axi0_awid(awid), .m_axi0_awaddr(awaddr), .m_axi0_awlen(awlen),
        .m_axi0_awsize(awsize), .m_axi0_awburst(awburst), .m_axi0_awlock(), .m_axi0_awcache(),
        .m_axi0_awprot(), .m_axi0_awqos(),
        .m_axi0_awvalid(awvalid), .m_axi0_awready(awready),
        .m_axi0_wdata(wdata), .m_axi0_wstrb(wstrb), .m_axi0_wlast(wlast),
        .m_axi0_wvalid(wvalid), .m_axi0_wready(wready),
        .m_axi0_bid(bid), .m_axi0_bresp(bresp), .m_axi0_bvalid(bvalid), .m_axi0_bready(bready)
    );

    axi_memory #(
        .DATA_WIDTH(DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(ID_WIDTH), .DEPTH(DEPTH)
    ) memory (
        .aclk(aclk), .aresetn(aresetn), .cycle(cycle), .dump(dump), .violations(violations),
        .arid(arid), .araddr(araddr), .arlen(arlen), .arsize(arsize), .arburst(arburst),
        .arvalid(arvalid), .arready(arready),
        .rid(rid), .rdata(rdata), .rresp(rresp), .rlast(rlast), .rvalid(rvalid), .rready(rready),
        .awid(awid), .awaddr(awaddr), .awlen(awlen), .awsize(awsize), .awburst(awburst),
        .awvalid(awvalid), .awready(awready),
        .wdata(wdata), .wstrb(wstrb), .wlast(wlast), .wvalid(wvalid), .wready(wready),
        .bid(bid), .bresp(bresp), .bvalid(bvalid), .bready(bready)
    );

    reg [8*1024-1:0] tap_file;
    integer taps;
    reg irq_before;
    initial begin
        irq_before = 0;
        taps = 0;
        if ($value$plusargs("tap_log=%s", tap_file)) taps = $fopen(tap_file, "w");
    end

    wire [ROW_WIDTH-1:0] row = dut.aggregation.i_rows__payload;
    always @(posedge aclk) begin
        irq_before <= irq;
        if (taps != 0 && aresetn) begin
            if (dut.aggregation.i_rows__valid && dut.aggregation.i_rows__ready)
                $fdisplay(taps, "q %0d %h", cycle, row);
            if (irq && !irq_before) $fdisplay(taps, "irq %0d", cycle);
            if (dump) $fflush(taps);
        end
    end

`ifdef TRACE
    reg [8*1024-1:0] trace_file;
    reg [63:0] trace_from;
    reg tracing;
    initial begin
        tracing = 0;
        if (!$value$plusargs("trace_file=%s", trace_file)) trace_file = "trace.vcd";
        if (!$value$plusargs("trace_from=%d", trace_from)) trace_from = 0;
        $dumpfile(trace_file);
    end
    always @(posedge aclk) begin
        if (!tracing && cycle == trace_from) begin
            tracing <= 1;
            $dumpvars(0, tb_gnn);
        end
    end
`endif
endmodule
