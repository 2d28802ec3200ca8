// Clock of replay.v for simulators that know time; it also ends the simulation. In Icarus a failed
// run makes vvp end with exit code 1. Elsewhere the last line, PASS or FAIL, tells.
module replay_clock;
    reg aclk;
    wire finished, failed;

    replay bench (.aclk(aclk), .finished(finished), .failed(failed));

    initial aclk = 0;
`ifdef WAVES
    initial begin
        $dumpfile("waves.vcd");
        $dumpvars(0, replay_clock);
    end
`endif
    always #1 aclk = !aclk;

    always @(posedge finished) begin
        #1;
`ifdef __ICARUS__
        $finish_and_return(failed);
`else
        $finish;
`endif
    end
endmodule
