// Behavioural AXI4 memory for simulation: plain Verilog-2005, no delays, so that Verilator
// (--no-timing) and Icarus both run it and no Python is needed in any cycle.
//
// Order: bursts are served in the order of their addresses, each direction by itself, up to
// 2**LOG2_QUEUE waiting. Both directions can move a beat a cycle.
//
// Time, counted from edge to edge: a read whose address is taken at edge t gives its first beat
// at edge t + read_latency at the earliest, then a beat a cycle; write data is taken from the edge
// after its address; the response comes write_latency edges after the last data beat. Both
// latencies are at least 2. Anything that is not set below is "ideal": no throttle, no stall.
//
// Plusargs (decimal unless said otherwise):
//   image=FILE        initial contents, one hexadecimal beat a line, from address 0
//   image_beats=N     lines of that file; also what is dumped
//   dump=FILE         contents when `dump` rises, same form
//   memory_log=FILE   writes, rule violations and totals, see below
//   read_latency=N write_latency=N                        (8)
//   read_rate=N write_rate=N     256ths of a beat a cycle (256)
//   stall_ar=N stall_r=N stall_aw=N stall_w=N stall_b=N   256ths, chance of a stall a cycle (0)
//   seed=N                                                (1)
//   error_low=HEX error_high=HEX  byte addresses low <= a < high answer SLVERR, writes are dropped
//
// Log lines: "w cycle address data strobes", "v cycle text", "t name value" (totals, at the dump).
module axi_memory #(
    parameter DATA_WIDTH = 64,
    parameter ADDR_WIDTH = 32,
    parameter ID_WIDTH = 4,
    parameter DEPTH = 524288,
    parameter LOG2_QUEUE = 5
) (
    input  wire                    aclk,
    input  wire                    aresetn,
    input  wire [63:0]             cycle,
    input  wire                    dump,
    output reg  [31:0]             violations,

    input  wire [ID_WIDTH-1:0]     arid,
    input  wire [ADDR_WIDTH-1:0]   araddr,
    input  wire [7:0]              arlen,
    input  wire [2:0]              arsize,
    input  wire [1:0]              arburst,
    input  wire                    arvalid,
    output wire                    arready,
    output reg  [ID_WIDTH-1:0]     rid,
    output reg  [DATA_WIDTH-1:0]   rdata,
    output reg  [1:0]              rresp,
    output reg                     rlast,
    output reg                     rvalid,
    input  wire                    rready,

    input  wire [ID_WIDTH-1:0]     awid,
    input  wire [ADDR_WIDTH-1:0]   awaddr,
    input  wire [7:0]              awlen,
    input  wire [2:0]              awsize,
    input  wire [1:0]              awburst,
    input  wire                    awvalid,
    output wire                    awready,
    input  wire [DATA_WIDTH-1:0]   wdata,
    input  wire [DATA_WIDTH/8-1:0] wstrb,
    input  wire                    wlast,
    input  wire                    wvalid,
    output wire                    wready,
    output reg  [ID_WIDTH-1:0]     bid,
    output reg  [1:0]              bresp,
    output reg                     bvalid,
    input  wire                    bready
);
    localparam BYTES = DATA_WIDTH / 8;
    localparam QUEUE = 1 << LOG2_QUEUE;
    localparam [LOG2_QUEUE:0] FULL = QUEUE[LOG2_QUEUE:0];
    localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10, DECERR = 2'b11;

    function integer log2(input integer value);
        begin
            log2 = 0;
            while ((1 << log2) < value) log2 = log2 + 1;
        end
    endfunction

    localparam LOG2_BYTES = log2(BYTES);
    localparam [2:0] FULL_SIZE = LOG2_BYTES[2:0];
    localparam [31:0] WORDS = DEPTH;

    reg [DATA_WIDTH-1:0] memory [0:DEPTH-1];

    // settings
    reg [8*1024-1:0] image_file, dump_file, log_file;
    reg [31:0] image_beats, seed;
    reg [63:0] error_low, error_high, read_latency, write_latency;
    reg [9:0] read_rate, write_rate;
    reg [8:0] stall_ar, stall_r, stall_aw, stall_w, stall_b;
    integer log, index;

    initial begin
        if (!$value$plusargs("image_beats=%d", image_beats)) image_beats = WORDS;
        if (!$value$plusargs("read_latency=%d", read_latency)) read_latency = 8;
        if (!$value$plusargs("write_latency=%d", write_latency)) write_latency = 8;
        if (!$value$plusargs("read_rate=%d", read_rate)) read_rate = 256;
        if (!$value$plusargs("write_rate=%d", write_rate)) write_rate = 256;
        if (!$value$plusargs("stall_ar=%d", stall_ar)) stall_ar = 0;
        if (!$value$plusargs("stall_r=%d", stall_r)) stall_r = 0;
        if (!$value$plusargs("stall_aw=%d", stall_aw)) stall_aw = 0;
        if (!$value$plusargs("stall_w=%d", stall_w)) stall_w = 0;
        if (!$value$plusargs("stall_b=%d", stall_b)) stall_b = 0;
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        if (!$value$plusargs("error_low=%h", error_low)) error_low = 0;
        if (!$value$plusargs("error_high=%h", error_high)) error_high = 0;
        for (index = 0; index < DEPTH; index = index + 1) memory[index] = {DATA_WIDTH{1'b0}};
        if ($value$plusargs("image=%s", image_file))
            $readmemh(image_file, memory, 0, image_beats - 1);
        log = 0;
        if ($value$plusargs("memory_log=%s", log_file)) log = $fopen(log_file, "w");
        random = {32'h9e3779b9, seed};
        violations = 0;
        dumped = 0;
    end

    // random stalls
    reg [63:0] random;

    function [63:0] xorshift(input [63:0] state);
        reg [63:0] s;
        begin
            s = state ^ (state << 13);
            s = s ^ (s >> 7);
            xorshift = s ^ (s << 17);
        end
    endfunction

    always @(posedge aclk) random <= xorshift(random);

    wire hold_ar = {1'b0, random[7:0]} < stall_ar;
    wire hold_r  = {1'b0, random[18:11]} < stall_r;
    wire hold_aw = {1'b0, random[29:22]} < stall_aw;
    wire hold_w  = {1'b0, random[40:33]} < stall_w;
    wire hold_b  = {1'b0, random[51:44]} < stall_b;

    function failing(input [ADDR_WIDTH-1:0] address);
        failing = {{(64-ADDR_WIDTH){1'b0}}, address} >= error_low
               && {{(64-ADDR_WIDTH){1'b0}}, address} < error_high;
    endfunction

    function [31:0] word_of(input [ADDR_WIDTH-1:0] address);
        reg [63:0] word;
        begin
            word = {{(64-ADDR_WIDTH){1'b0}}, address} >> LOG2_BYTES;
            word_of = |word[63:32] ? 32'hffffffff : word[31:0];
        end
    endfunction

    function [1:0] response(input [ADDR_WIDTH-1:0] address);
        if (word_of(address) >= WORDS) response = DECERR;
        else response = failing(address) ? SLVERR : OKAY;
    endfunction

    // reads
    reg [ID_WIDTH-1:0]   ar_id   [0:QUEUE-1];
    reg [ADDR_WIDTH-1:0] ar_addr [0:QUEUE-1];
    reg [7:0]            ar_len  [0:QUEUE-1];
    reg [63:0]           ar_due  [0:QUEUE-1];
    reg [LOG2_QUEUE-1:0] ar_head, ar_tail;
    reg [LOG2_QUEUE:0]   ar_count;
    reg [7:0]            r_beat;
    reg [9:0]            r_credit;

    assign arready = aresetn && ar_count != FULL && !hold_ar;
    wire ar_fire = arvalid && arready;
    wire r_free = !rvalid || rready;
    wire [9:0] r_have = r_credit + read_rate;
    wire r_load = r_free && ar_count != 0 && cycle >= ar_due[ar_head] && !hold_r && r_have >= 256;
    wire r_end = r_load && r_beat == ar_len[ar_head];
    wire [ADDR_WIDTH-1:0] r_addr =
        ar_addr[ar_head] + ({{(ADDR_WIDTH-8){1'b0}}, r_beat} << LOG2_BYTES);
    wire [31:0] r_word = word_of(r_addr);

    always @(posedge aclk) begin
        if (!aresetn) begin
            ar_head <= 0;
            ar_tail <= 0;
            ar_count <= 0;
            r_beat <= 0;
            r_credit <= 0;
            rvalid <= 0;
            rid <= 0;
            rdata <= 0;
            rresp <= OKAY;
            rlast <= 0;
        end else begin
            if (ar_fire) begin
                ar_id[ar_tail] <= arid;
                ar_addr[ar_tail] <= araddr;
                ar_len[ar_tail] <= arlen;
                ar_due[ar_tail] <= cycle + read_latency - 1;
                ar_tail <= ar_tail + 1;
            end
            ar_count <= ar_count + {{LOG2_QUEUE{1'b0}}, ar_fire} - {{LOG2_QUEUE{1'b0}}, r_end};
            r_credit <= r_load ? r_have - 256 : r_have > 255 ? 255 : r_have;
            if (r_free) rvalid <= r_load;
            if (r_load) begin
                rid <= ar_id[ar_head];
                rresp <= response(r_addr);
                rdata <= response(r_addr) == OKAY ? memory[r_word[log2(DEPTH)-1:0]] : 0;
                rlast <= r_end;
                r_beat <= r_end ? 0 : r_beat + 1;
                if (r_end) ar_head <= ar_head + 1;
            end
        end
    end

    // writes
    reg [ID_WIDTH-1:0]   aw_id   [0:QUEUE-1];
    reg [ADDR_WIDTH-1:0] aw_addr [0:QUEUE-1];
    reg [7:0]            aw_len  [0:QUEUE-1];
    reg [LOG2_QUEUE-1:0] aw_head, aw_tail;
    reg [LOG2_QUEUE:0]   aw_count;
    reg [ID_WIDTH-1:0]   b_id    [0:QUEUE-1];
    reg [1:0]            b_resp  [0:QUEUE-1];
    reg [63:0]           b_due   [0:QUEUE-1];
    reg [LOG2_QUEUE-1:0] b_head, b_tail;
    reg [LOG2_QUEUE:0]   b_count;
    reg [7:0]            w_beat;
    reg [9:0]            w_credit;
    reg [1:0]            w_worst;

    assign awready = aresetn && aw_count != FULL && !hold_aw;
    wire aw_fire = awvalid && awready;
    wire [9:0] w_have = w_credit + write_rate;
    assign wready = aresetn && aw_count != 0 && b_count != FULL && !hold_w && w_have >= 256;
    wire w_fire = wvalid && wready;
    wire w_end = w_fire && w_beat == aw_len[aw_head];
    wire [ADDR_WIDTH-1:0] w_addr =
        aw_addr[aw_head] + ({{(ADDR_WIDTH-8){1'b0}}, w_beat} << LOG2_BYTES);
    wire [31:0] w_word = word_of(w_addr);
    wire [1:0] w_resp = response(w_addr) | w_worst;
    wire b_free = !bvalid || bready;
    wire b_load = b_free && b_count != 0 && cycle >= b_due[b_head] && !hold_b;
    reg [DATA_WIDTH-1:0] merged;
    integer lane;

    always @(posedge aclk) begin
        if (!aresetn) begin
            aw_head <= 0;
            aw_tail <= 0;
            aw_count <= 0;
            b_head <= 0;
            b_tail <= 0;
            b_count <= 0;
            w_beat <= 0;
            w_credit <= 0;
            w_worst <= OKAY;
            bvalid <= 0;
            bid <= 0;
            bresp <= OKAY;
        end else begin
            if (aw_fire) begin
                aw_id[aw_tail] <= awid;
                aw_addr[aw_tail] <= awaddr;
                aw_len[aw_tail] <= awlen;
                aw_tail <= aw_tail + 1;
            end
            aw_count <= aw_count + {{LOG2_QUEUE{1'b0}}, aw_fire} - {{LOG2_QUEUE{1'b0}}, w_end};
            w_credit <= w_fire ? w_have - 256 : w_have > 255 ? 255 : w_have;
            if (w_fire) begin
                if (response(w_addr) == OKAY) begin
                    merged = memory[w_word[log2(DEPTH)-1:0]];
                    for (lane = 0; lane < BYTES; lane = lane + 1)
                        if (wstrb[lane]) merged[8*lane +: 8] = wdata[8*lane +: 8];
                    memory[w_word[log2(DEPTH)-1:0]] <= merged;
                    if (log != 0) $fdisplay(log, "w %0d %h %h %h", cycle, w_addr, wdata, wstrb);
                end
                w_beat <= w_end ? 0 : w_beat + 1;
                w_worst <= w_end ? OKAY : w_resp;
            end
            if (w_end) begin
                aw_head <= aw_head + 1;
                b_id[b_tail] <= aw_id[aw_head];
                b_resp[b_tail] <= w_resp;
                b_due[b_tail] <= cycle + write_latency - 1;
                b_tail <= b_tail + 1;
            end
            b_count <= b_count + {{LOG2_QUEUE{1'b0}}, w_end} - {{LOG2_QUEUE{1'b0}}, b_load};
            if (b_free) bvalid <= b_load;
            if (b_load) begin
                bid <= b_id[b_head];
                bresp <= b_resp[b_head];
                b_head <= b_head + 1;
            end
        end
    end

    // rules of the bus
    localparam AR_WIDTH = ID_WIDTH + ADDR_WIDTH + 13;
    localparam W_WIDTH = DATA_WIDTH + BYTES + 1;
    wire [AR_WIDTH-1:0] ar_now = {arid, araddr, arlen, arsize, arburst};
    wire [AR_WIDTH-1:0] aw_now = {awid, awaddr, awlen, awsize, awburst};
    wire [W_WIDTH-1:0] w_now = {wdata, wstrb, wlast};
    reg [AR_WIDTH-1:0] ar_last, aw_last;
    reg [W_WIDTH-1:0] w_last;
    reg ar_held, aw_held, w_held;

    function crosses(input [ADDR_WIDTH-1:0] address, input [7:0] len);
        reg [15:0] last;
        begin
            last = {4'b0, address[11:0]} + (({8'b0, len} + 16'd1) << LOG2_BYTES) - 16'd1;
            crosses = |last[15:12];
        end
    endfunction

    task violation(input [8*48-1:0] text);
        begin
            violations = violations + 1;
            if (log != 0) $fdisplay(log, "v %0d %0s", cycle, text);
        end
    endtask

    always @(posedge aclk) begin
        ar_last <= ar_now;
        aw_last <= aw_now;
        w_last <= w_now;
        ar_held <= aresetn && arvalid && !arready;
        aw_held <= aresetn && awvalid && !awready;
        w_held <= aresetn && wvalid && !wready;
        if (aresetn) begin
            if (ar_held && !arvalid) violation("ARVALID withdrawn");
            if (ar_held && arvalid && ar_now != ar_last) violation("AR changed while it waited");
            if (aw_held && !awvalid) violation("AWVALID withdrawn");
            if (aw_held && awvalid && aw_now != aw_last) violation("AW changed while it waited");
            if (w_held && !wvalid) violation("WVALID withdrawn");
            if (w_held && wvalid && w_now != w_last) violation("W changed while it waited");
            if (ar_fire && crosses(araddr, arlen)) violation("read burst crosses 4 KiB");
            if (aw_fire && crosses(awaddr, awlen)) violation("write burst crosses 4 KiB");
            if (ar_fire && (arburst != 2'b01 || arsize != FULL_SIZE))
                violation("read burst is not INCR of whole beats");
            if (aw_fire && (awburst != 2'b01 || awsize != FULL_SIZE))
                violation("write burst is not INCR of whole beats");
            if (ar_fire && |araddr[LOG2_BYTES-1:0]) violation("read address is not a beat's");
            if (aw_fire && |awaddr[LOG2_BYTES-1:0]) violation("write address is not a beat's");
            if (w_fire && wlast != w_end) violation("WLAST is not at the last beat");
        end
    end

    // totals and dump
    reg [63:0] read_bursts, read_beats, write_bursts, write_beats;
    reg dumped;
    integer dump_handle, line;

    always @(posedge aclk) begin
        if (!aresetn) begin
            read_bursts <= 0;
            read_beats <= 0;
            write_bursts <= 0;
            write_beats <= 0;
        end else begin
            read_bursts <= read_bursts + {63'b0, ar_fire};
            read_beats <= read_beats + {63'b0, rvalid && rready};
            write_bursts <= write_bursts + {63'b0, aw_fire};
            write_beats <= write_beats + {63'b0, w_fire};
        end
        if (dump && !dumped) begin
            dumped <= 1;
            if (log != 0) begin
                $fdisplay(log, "t read_bursts %0d", read_bursts);
                $fdisplay(log, "t read_beats %0d", read_beats);
                $fdisplay(log, "t write_bursts %0d", write_bursts);
                $fdisplay(log, "t write_beats %0d", write_beats);
                $fclose(log);
                log = 0;
            end
            if ($value$plusargs("dump=%s", dump_file)) begin
                dump_handle = $fopen(dump_file, "w");
                for (line = 0; line < image_beats; line = line + 1)
                    $fdisplay(dump_handle, "%h", memory[line]);
                $fclose(dump_handle);
            end
        end
    end
endmodule
