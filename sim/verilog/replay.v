// Repeats one run of the graph engine and judges it, in plain Verilog-2005 without delays.
//
// `replay` has its clock from outside: from replay_clock.v where the simulator knows time, from
// replay_main.cpp in Verilator. Everything about the run is read from files in the current folder:
//
//   run.txt       what to do with the registers, a line each: operation, byte offset, value, name.
//                 "write" and "read" (must equal the value) are of 32 bits, "event" (must equal)
//                 and "time" (shown beside the value) are counters of two registers; "wait" waits
//                 for the interrupt, at most that many cycles. Offset and value are hexadecimal.
//   expected.hex  the memory afterwards, a beat a line from address 0
//   regions.txt   what lies where: begin, bytes, kind, layer, part (-1: none or all)
//
// The memory before the run, how many beats are compared (image_beats) and how the memory behaves
// are plusargs of axi_memory.v; those of tb_gnn.v work too.
module replay (
    input  wire aclk,
    output reg  finished,
    output reg  failed
);
    localparam DATA_WIDTH = `REPLAY_DATA_WIDTH;
    localparam BYTES = DATA_WIDTH / 8;
    localparam DEPTH = `REPLAY_DEPTH;
    localparam REGISTER_WIDTH = `REPLAY_REGISTER_WIDTH;
    localparam RESET_CYCLES = 8;

    reg aresetn, dump;
    wire irq;
    wire [63:0] now;
    wire [31:0] violations;

    reg  [REGISTER_WIDTH-1:0] awaddr, araddr;
    reg  [31:0] wdata;
    reg  awvalid, wvalid, bready, arvalid, rready;
    wire awready, wready, bvalid, arready, rvalid;
    wire [1:0] bresp, rresp;
    wire [31:0] rdata;

    tb_gnn #(`REPLAY_PARAMETERS) bench (
        .aclk(aclk), .aresetn(aresetn), .dump(dump), .irq(irq), .now(now), .violations(violations),
        .s_axi_awaddr(awaddr), .s_axi_awprot(3'b0), .s_axi_awvalid(awvalid),
        .s_axi_awready(awready), .s_axi_wdata(wdata), .s_axi_wstrb(4'b1111),
        .s_axi_wvalid(wvalid), .s_axi_wready(wready),
        .s_axi_bresp(bresp), .s_axi_bvalid(bvalid), .s_axi_bready(bready),
        .s_axi_araddr(araddr), .s_axi_arprot(3'b0), .s_axi_arvalid(arvalid),
        .s_axi_arready(arready), .s_axi_rdata(rdata), .s_axi_rresp(rresp),
        .s_axi_rvalid(rvalid), .s_axi_rready(rready)
    );

    reg [DATA_WIDTH-1:0] expected [0:DEPTH-1];
    reg [31:0] beats;
    integer run, failures, events;

    initial begin
        finished = 0;
        failed = 0;
        aresetn = 0;
        dump = 0;
        awvalid = 0;
        wvalid = 0;
        bready = 0;
        arvalid = 0;
        rready = 0;
        awaddr = 0;
        araddr = 0;
        wdata = 0;
        failures = 0;
        events = 0;
        count = 0;
        state = RESET;
        run = $fopen("run.txt", "r");
        if (!$value$plusargs("image_beats=%d", beats)) beats = DEPTH;
        $readmemh("expected.hex", expected, 0, beats - 1);
    end

    // the lines of run.txt
    localparam [3:0] RESET = 0, NEXT = 1, WRITE = 2, LOW = 3, HIGH = 4, WAIT = 5, JUDGE = 6,
        DUMP = 7, END = 8;
    reg [3:0] state;
    reg [63:0] count;
    reg [8*8-1:0] operation;
    reg [31:0] offset;
    reg [63:0] value, found;
    reg [8*48-1:0] name;
    integer fields;

    task failure;
        failures = failures + 1;
    endtask

    task next_line;
        begin
            fields = $fscanf(run, "%s %h %h %s\n", operation, offset, value, name);
            if (fields != 4) begin
                state <= JUDGE;
            end else if (operation == "write") begin
                awaddr <= offset[REGISTER_WIDTH-1:0];
                wdata <= value[31:0];
                awvalid <= 1;
                wvalid <= 1;
                bready <= 1;
                state <= WRITE;
            end else if (operation == "wait") begin
                count <= 0;
                state <= WAIT;
            end else begin
                read(offset);
                state <= LOW;
            end
        end
    endtask

    task read(input [31:0] address);
        begin
            araddr <= address[REGISTER_WIDTH-1:0];
            arvalid <= 1;
            rready <= 1;
        end
    endtask

    task judge_value;
        begin
            if (operation == "time") begin
                $display("      %0s: %0d cycles, the cost model says %0d", name, found, value);
            end else begin
                if (operation == "event") events = events + 1;
                if (found != value) begin
                    failure;
                    $display("FAIL: %0s is %0d (%0h), not %0d (%0h)", name, found, found, value,
                             value);
                end
            end
            state <= NEXT;
        end
    endtask

    always @(posedge aclk) begin
        if (awvalid && awready) awvalid <= 0;
        if (wvalid && wready) wvalid <= 0;
        if (arvalid && arready) arvalid <= 0;
        case (state)
            RESET: begin
                count <= count + 1;
                if (count == RESET_CYCLES) begin
                    aresetn <= 1;
                    state <= NEXT;
                end
            end
            NEXT: next_line;
            WRITE: if (bvalid) begin
                bready <= 0;
                answer(bresp);
                state <= NEXT;
            end
            LOW: if (rvalid) begin
                rready <= 0;
                answer(rresp);
                found = {32'b0, rdata};
                if (operation == "read") begin
                    judge_value;
                end else begin
                    read(offset + 4);
                    state <= HIGH;
                end
            end
            HIGH: if (rvalid) begin
                rready <= 0;
                answer(rresp);
                found = {rdata, found[31:0]};
                judge_value;
            end
            WAIT: begin
                count <= count + 1;
                if (irq) begin
                    state <= NEXT;
                end else if (count == value) begin
                    failure;
                    $display("FAIL: no interrupt %0d cycles after the start", value);
                    state <= NEXT;
                end
            end
            JUDGE: begin
                judge_memory;
                dump <= 1;
                state <= DUMP;
            end
            DUMP: state <= END;
            default: if (!finished) begin
                if (failures == 0)
                    $display("PASS: %0d bytes of memory and %0d event counters", beats * BYTES,
                             events);
                else
                    $display("FAIL: %0d checks of this run", failures);
                failed <= failures != 0;
                finished <= 1;
            end
        endcase
    end

    task answer(input [1:0] response);
        if (response != 0) begin
            failure;
            $display("FAIL: %0s at offset %h is answered with %0d, not OKAY", name, offset,
                     response);
        end
    endtask

    // the memory
    reg [31:0] beat, first, differing;
    reg [DATA_WIDTH-1:0] difference;
    integer lane, first_lane;

    task judge_memory;
        begin
            differing = 0;
            for (beat = 0; beat < beats; beat = beat + 1)
                if (bench.memory.memory[beat] !== expected[beat]) begin
                    if (differing == 0) first = beat;
                    difference = bench.memory.memory[beat] ^ expected[beat];
                    for (lane = 0; lane < BYTES; lane = lane + 1)
                        if (difference[8*lane +: 8] !== 8'b0) differing = differing + 1;
                end
            if (differing != 0) begin
                failure;
                difference = bench.memory.memory[first] ^ expected[first];
                first_lane = 0;
                while (difference[8*first_lane +: 8] === 8'b0) first_lane = first_lane + 1;
                tell_address({32'b0, first} * BYTES + {32'b0, first_lane});
            end
            if (violations != 0) begin
                failure;
                $display("FAIL: %0d violations of AXI; +memory_log=FILE lists them", violations);
            end
        end
    endtask

    reg [63:0] begins, bytes;
    reg [8*32-1:0] kind;
    reg [DATA_WIDTH-1:0] got_beat, expected_beat;
    reg found_region;
    integer regions, layer, part;

    task tell_address(input [63:0] address);
        begin
            got_beat = bench.memory.memory[first];
            expected_beat = expected[first];
            $write("FAIL: address %h, ", address);
            regions = $fopen("regions.txt", "r");
            found_region = 0;
            fields = 5;
            while (fields == 5 && !found_region) begin
                fields = $fscanf(regions, "%h %h %s %d %d\n", begins, bytes, kind, layer, part);
                found_region = fields == 5 && address >= begins && address < begins + bytes;
            end
            if (found_region) $write("%0s", kind); else $write("between regions");
            if (found_region && layer >= 0) $write(" of layer %0d", layer);
            if (found_region && part >= 0) $write(", part %0d", part);
            if (found_region) $write(" (its byte %0d)", address - begins);
            $display(": expected %h, got %h; %0d bytes differ in all",
                     expected_beat[8*first_lane +: 8], got_beat[8*first_lane +: 8], differing);
            $fclose(regions);
        end
    endtask
endmodule
