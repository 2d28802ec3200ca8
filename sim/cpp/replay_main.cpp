// Clock of replay.v in Verilator; the exit code is 0 if the run passed, else 1.
#include "Vreplay.h"
#include "verilated.h"

#include <memory>

int main(int argc, char **argv)
{
    auto context = std::make_unique<VerilatedContext>();
    context->commandArgs(argc, argv);
    auto top = std::make_unique<Vreplay>(context.get());
    while (!top->finished && !context->gotFinish()) {
        top->aclk = !top->aclk;
        top->eval();
        context->timeInc(1);
    }
    top->final();
    return top->finished && !top->failed ? 0 : 1;
}
