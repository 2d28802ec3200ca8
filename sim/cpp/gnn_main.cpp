// Runs one Program on the bench tb_gnn, through the registers as software does, with the generated
// header and no Python. Arguments of its own, besides the plusargs of tb_gnn.v and axi_memory.v:
//   +result=FILE              JSON: what software can read afterwards
//   +cycle_limit=N            cycles after the start at which the run is given up
//   +place=N                  byte address of the Program
//   +combine_commands=N +aggregate_commands=N   entries of the command log that are read
// Exit code 0: the result is written, whatever it says. 1: the engine is not that of the header.
#include "Vtb_gnn.h"
#include "bitwright_gnn.h"
#include "verilated.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

/// The bench with a clock and an AXI4-Lite master.
class Bench {
public:
    Bench(int argc, char **argv) : context(new VerilatedContext)
    {
        context->commandArgs(argc, argv);
        top.reset(new Vtb_gnn(context.get()));
        top->s_axi_wstrb = 0xf;
        cycles(4);
        top->aresetn = 1;
        cycles(1);
    }

    ~Bench() { top->final(); }

    void cycle()
    {
        top->aclk = 1;
        top->eval();
        context->timeInc(1);
        top->aclk = 0;
        top->eval();
        context->timeInc(1);
    }

    void cycles(unsigned count)
    {
        while (count--)
            cycle();
    }

    uint32_t read(uint32_t offset)
    {
        top->s_axi_araddr = offset;
        top->s_axi_arvalid = 1;
        top->s_axi_rready = 1;
        for (;;) {
            top->eval();
            const bool taken = top->s_axi_arvalid && top->s_axi_arready;
            const bool answered = top->s_axi_rvalid;
            const uint32_t value = top->s_axi_rdata;
            const unsigned response = top->s_axi_rresp;
            cycle();
            if (taken)
                top->s_axi_arvalid = 0;
            if (answered) {
                top->s_axi_rready = 0;
                check("read", offset, response);
                return value;
            }
        }
    }

    void write(uint32_t offset, uint32_t value)
    {
        top->s_axi_awaddr = offset;
        top->s_axi_wdata = value;
        top->s_axi_awvalid = 1;
        top->s_axi_wvalid = 1;
        top->s_axi_bready = 1;
        for (;;) {
            top->eval();
            const bool address_taken = top->s_axi_awvalid && top->s_axi_awready;
            const bool data_taken = top->s_axi_wvalid && top->s_axi_wready;
            const bool answered = top->s_axi_bvalid;
            const unsigned response = top->s_axi_bresp;
            cycle();
            if (address_taken)
                top->s_axi_awvalid = 0;
            if (data_taken)
                top->s_axi_wvalid = 0;
            if (answered) {
                top->s_axi_bready = 0;
                check("write", offset, response);
                return;
            }
        }
    }

    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<Vtb_gnn> top;

private:
    static void check(const char *access, uint32_t offset, unsigned response)
    {
        if (response == 0)
            return;
        std::fprintf(stderr, "Error: %s of offset %#x answered %u, not OKAY\n", access,
                     unsigned(offset), response);
        std::exit(1);
    }
};

uint32_t read_register(void *bench, uint32_t offset)
{
    return static_cast<Bench *>(bench)->read(offset);
}

void write_register(void *bench, uint32_t offset, uint32_t value)
{
    static_cast<Bench *>(bench)->write(offset, value);
}

/// The value of +name=VALUE.
std::string argument(const Bench &bench, const std::string &name)
{
    const std::string found = bench.context->commandArgsPlusMatch((name + "=").c_str());
    if (found.empty()) {
        std::fprintf(stderr, "Error: +%s=VALUE is missing\n", name.c_str());
        std::exit(1);
    }
    return found.substr(name.size() + 2);
}

unsigned long long number(const Bench &bench, const std::string &name)
{
    return std::strtoull(argument(bench, name).c_str(), nullptr, 10);
}

void write_commands(std::FILE *file, const bitwright_gnn &engine, bitwright_gnn_queue queue,
                    const char *name, unsigned long long count)
{
    std::fprintf(file, "  \"%s\": [", name);
    for (unsigned index = 0; index < count; index++) {
        const bitwright_gnn_times times = bitwright_gnn_command(&engine, queue, index);
        std::fprintf(file, "%s\n   {\"start\": %u, \"go\": %u, \"end\": %u}", index ? "," : "",
                     unsigned(times.start), unsigned(times.go), unsigned(times.end));
    }
    std::fprintf(file, "]");
}

void write_counters(std::FILE *file, const bitwright_gnn &engine)
{
    std::fprintf(file, " \"counters\": {");
    for (unsigned counter = 0; counter < BITWRIGHT_GNN_COUNTERS; counter++)
        std::fprintf(file, "%s\n  \"%s\": %llu", counter ? "," : "",
                     bitwright_gnn_counter_name(counter),
                     static_cast<unsigned long long>(bitwright_gnn_counter(&engine, counter)));
    std::fprintf(file, "},\n");
}

} // namespace

int main(int argc, char **argv)
{
    Bench bench(argc, argv);
    const bitwright_gnn engine = bitwright_gnn_through(read_register, write_register, &bench);
    if (const char *wrong = bitwright_gnn_check(&engine)) {
        std::fprintf(stderr, "Error: %s is not that of the header\n", wrong);
        return 1;
    }
    const unsigned long long limit = number(bench, "cycle_limit");
    bitwright_gnn_start(&engine, number(bench, "place"),
                        BITWRIGHT_GNN_IRQ_ENABLE_DONE_MASK | BITWRIGHT_GNN_IRQ_ENABLE_ERROR_MASK);
    const unsigned long long began = bench.top->now;
    while (!bench.top->irq && bench.top->now - began < limit)
        bench.cycle();
    const unsigned long long edges = bench.top->now - began;

    std::FILE *file = std::fopen(argument(bench, "result").c_str(), "w");
    if (!file) {
        std::fprintf(stderr, "Error: the result cannot be written\n");
        return 1;
    }
    std::fprintf(file, "{\n \"edges\": %llu,\n \"interrupt\": %s,\n", edges,
                 bench.top->irq ? "true" : "false");
    std::fprintf(file, " \"status\": %u,\n \"error\": %u,\n",
                 unsigned(bitwright_gnn_read(&engine, BITWRIGHT_GNN_STATUS)),
                 unsigned(bitwright_gnn_get_error(&engine)));
    write_counters(file, engine);
    std::fprintf(file, " \"commands\": {\n");
    write_commands(file, engine, BITWRIGHT_GNN_COMBINE, "combine",
                   number(bench, "combine_commands"));
    std::fprintf(file, ",\n");
    write_commands(file, engine, BITWRIGHT_GNN_AGGREGATE, "aggregate",
                   number(bench, "aggregate_commands"));
    std::fprintf(file, "},\n");
    // The last responses may still be on their way when an error stopped the engine.
    bench.cycles(4);
    bench.top->dump = 1;
    bench.cycles(2);
    std::fprintf(file, " \"violations\": %u\n}\n", unsigned(bench.top->violations));
    return std::fclose(file) ? 1 : 0;
}
