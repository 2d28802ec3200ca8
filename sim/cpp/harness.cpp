// Runs a Verilated model in batches: streams come from arrays and go into arrays, other inputs keep
// a value or follow a table, other outputs are added up. `ports.h` is made from the component.

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "Vmodel.h"

struct Port {
  void *data = nullptr;  // null where the Verilog has no such port
  uint32_t bytes = 0;

  uint64_t low() const {
    switch (bytes) {
      case 0: return 0;
      case 1: return *static_cast<const uint8_t *>(data);
      case 2: return *static_cast<const uint16_t *>(data);
      case 4: return *static_cast<const uint32_t *>(data);
      default: return *static_cast<const uint64_t *>(data);
    }
  }
  void set(const uint32_t *words) { std::memcpy(data, words, bytes); }
  void get(uint32_t *words) const { std::memcpy(words, data, bytes); }
  void clear() { std::memset(data, 0, bytes); }
};

// Narrow ports are 1, 2, 4 or 8 bytes, wide ones 32-bit words: on a little-endian machine all of
// them are the first bytes of the packed words.
template <typename T>
static Port port(T &member) {
  return Port{&member, sizeof(T)};
}

struct Stream {
  Port valid, ready, payload;
  uint32_t words;
};

struct Field {
  uint32_t output, offset, width;
};

struct Ports {
  Port clock;
  std::vector<Stream> sources, sinks;
  std::vector<Port> inputs, outputs;
  std::vector<Field> fields;
};

#include "ports.h"

// What Python hands over and reads back (`sim.harness` has the same structures).
struct Lane {
  uint32_t *words;   // packed payloads
  uint64_t *cycles;  // null, or room for the cycle of each handshake
  uint64_t count;    // payloads to offer, or to take
  uint64_t done;     // taken, or given
};

struct Table {
  const uint32_t *words;
  uint64_t rows;
  uint32_t input, row_words;
};

struct Sample {
  uint32_t *words;
  uint64_t cycles;
  uint32_t output, row_words;
};

enum Outcome : uint32_t { DONE, LIMIT, WITHDRAWN, CHANGED, TOO_MANY };

struct Batch {
  Lane *sources, *sinks;
  const Table *tables;
  const Sample *samples;
  uint64_t *totals;  // one a field
  uint64_t table_count, sample_count;
  uint64_t limit, settle, seed;
  double idle, stall;
  uint64_t cycles;    // up to and with the last progress
  uint64_t simulated;  // all
  uint32_t outcome, stream;
};

namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // SplitMix64.
  bool below(double probability) {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53 < probability;
  }

 private:
  uint64_t state_;
};

// The random choices of one stream do not depend on those of another.
std::vector<Random> randoms(size_t count, uint64_t seed, uint64_t kind) {
  std::vector<Random> made;
  for (uint64_t k = 0; k < count; ++k) {
    made.emplace_back(seed * 0xd1342543de82ef95 + (2 * k + kind) * 0xaf251af3b0f025b5);
  }
  return made;
}

class Harness {
 public:
  Harness() : model_(&context_), ports_(make_ports(model_)) { eval(0); }
  ~Harness() { model_.final(); }

  void set(uint32_t input, const uint32_t *words) { ports_.inputs[input].set(words); }
  void run(Batch &batch);

 private:
  void eval(uint8_t clock) {
    if (ports_.clock.data) *static_cast<uint8_t *>(ports_.clock.data) = clock;
    model_.eval();
  }
  void offer(Batch &batch);
  void drive(const Batch &batch, uint64_t cycle);
  bool take(Batch &batch, uint64_t cycle);
  bool give(Batch &batch, uint64_t cycle);
  void watch(const Batch &batch, uint64_t cycle);
  void rest(const Batch &batch);

  VerilatedContext context_;
  Vmodel model_;
  Ports ports_;
  std::vector<Random> idle_, stall_;
  std::vector<bool> offered_;
  std::vector<std::vector<uint32_t>> withheld_, kept_;
};

void Harness::offer(Batch &batch) {
  for (size_t k = 0; k < ports_.sources.size(); ++k) {
    Stream &port = ports_.sources[k];
    const Lane &lane = batch.sources[k];
    if (offered_[k]) continue;
    bool now = lane.done < lane.count && !(batch.idle > 0 && idle_[k].below(batch.idle));
    if (now) port.payload.set(lane.words + lane.done * port.words);
    if (port.valid.data) *static_cast<uint8_t *>(port.valid.data) = now;
    offered_[k] = now;
  }
  for (size_t k = 0; k < ports_.sinks.size(); ++k) {
    Port &ready = ports_.sinks[k].ready;
    bool now = !(batch.stall > 0 && stall_[k].below(batch.stall));
    if (ready.data) *static_cast<uint8_t *>(ready.data) = now;
  }
}

void Harness::drive(const Batch &batch, uint64_t cycle) {
  for (size_t k = 0; k < batch.table_count; ++k) {
    const Table &table = batch.tables[k];
    Port &input = ports_.inputs[table.input];
    if (cycle < table.rows) {
      input.set(table.words + cycle * table.row_words);
    } else if (cycle == table.rows) {
      input.set(kept_[k].data());
    }
  }
}

bool Harness::take(Batch &batch, uint64_t cycle) {
  bool progress = false;
  for (size_t k = 0; k < ports_.sources.size(); ++k) {
    const Stream &port = ports_.sources[k];
    if (!offered_[k] || (port.ready.data && !port.ready.low())) continue;
    Lane &lane = batch.sources[k];
    if (lane.cycles) lane.cycles[lane.done] = cycle;
    ++lane.done;
    offered_[k] = false;
    progress = true;
  }
  return progress;
}

bool Harness::give(Batch &batch, uint64_t cycle) {
  bool progress = false;
  for (size_t k = 0; k < ports_.sinks.size(); ++k) {
    const Stream &port = ports_.sinks[k];
    Lane &lane = batch.sinks[k];
    std::vector<uint32_t> &withheld = withheld_[k];
    bool valid = !port.valid.data || port.valid.low();
    bool ready = !port.ready.data || port.ready.low();
    batch.stream = static_cast<uint32_t>(k);
    if (!withheld.empty()) {
      if (!valid) {
        batch.outcome = WITHDRAWN;
        return progress;
      }
      if (std::memcmp(withheld.data(), port.payload.data, port.payload.bytes)) {
        batch.outcome = CHANGED;
        return progress;
      }
      withheld.clear();
    }
    if (!valid) continue;
    if (!ready) {
      withheld.assign(port.words + 1, 0);
      port.payload.get(withheld.data());
      continue;
    }
    if (lane.done == lane.count) {
      batch.outcome = TOO_MANY;
      return progress;
    }
    port.payload.get(lane.words + lane.done * port.words);
    if (lane.cycles) lane.cycles[lane.done] = cycle;
    ++lane.done;
    progress = true;
  }
  return progress;
}

void Harness::watch(const Batch &batch, uint64_t cycle) {
  for (size_t k = 0; k < ports_.fields.size(); ++k) {
    const Field &field = ports_.fields[k];
    const Port &output = ports_.outputs[field.output];
    uint64_t bits;
    if (output.bytes <= 8) {
      bits = output.low() >> field.offset;
    } else {
      const uint32_t *word = static_cast<const uint32_t *>(output.data) + field.offset / 32;
      bits = word[0];
      if (field.offset % 32 + field.width > 32) bits |= static_cast<uint64_t>(word[1]) << 32;
      bits >>= field.offset % 32;
    }
    batch.totals[k] += bits & ((uint64_t{1} << field.width) - 1);
  }
  for (size_t k = 0; k < batch.sample_count; ++k) {
    const Sample &sample = batch.samples[k];
    if (cycle >= sample.cycles) continue;
    ports_.outputs[sample.output].get(sample.words + cycle * sample.row_words);
  }
}

void Harness::rest(const Batch &batch) {
  for (Stream &port : ports_.sources) {
    if (port.valid.data) *static_cast<uint8_t *>(port.valid.data) = 0;
  }
  for (Stream &port : ports_.sinks) {
    if (port.ready.data) *static_cast<uint8_t *>(port.ready.data) = 0;
  }
  for (size_t k = 0; k < batch.table_count; ++k) {
    ports_.inputs[batch.tables[k].input].set(kept_[k].data());
  }
}

bool finished(const Lane *lanes, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    if (lanes[k].done < lanes[k].count) return false;
  }
  return true;
}

void Harness::run(Batch &batch) {
  size_t sources = ports_.sources.size(), sinks = ports_.sinks.size();
  idle_ = randoms(sources, batch.seed, 0);
  stall_ = randoms(sinks, batch.seed, 1);
  offered_.assign(sources, false);
  withheld_.assign(sinks, {});
  kept_.clear();
  uint64_t least = 0;  // cycles that tables and samples ask for
  for (size_t k = 0; k < batch.table_count; ++k) {
    const Table &table = batch.tables[k];
    kept_.emplace_back(table.row_words + 1, 0);
    ports_.inputs[table.input].get(kept_[k].data());
    if (table.rows > least) least = table.rows;
  }
  for (size_t k = 0; k < batch.sample_count; ++k) {
    if (batch.samples[k].cycles > least) least = batch.samples[k].cycles;
  }
  batch.outcome = DONE;
  batch.cycles = 0;
  uint64_t cycle = 0;
  bool done = least == 0 && finished(batch.sources, sources) && finished(batch.sinks, sinks);
  for (; !done || cycle < batch.cycles + batch.settle; ++cycle) {
    if (cycle == batch.limit) {
      if (!done) batch.outcome = LIMIT;
      break;
    }
    offer(batch);
    drive(batch, cycle);
    eval(0);
    watch(batch, cycle);
    bool progress = take(batch, cycle);
    progress |= give(batch, cycle);
    eval(1);
    if (batch.outcome != DONE) {
      batch.cycles = cycle + 1;
      break;
    }
    if (progress || cycle < least) {
      batch.cycles = cycle + 1;
      done = cycle + 1 >= least && finished(batch.sources, sources) && finished(batch.sinks, sinks);
    }
  }
  batch.simulated = cycle;
  rest(batch);
}

}  // namespace

extern "C" {

void *harness_new() { return new Harness; }
void harness_delete(void *harness) { delete static_cast<Harness *>(harness); }
void harness_set(void *harness, uint32_t input, const uint32_t *words) {
  static_cast<Harness *>(harness)->set(input, words);
}
void harness_run(void *harness, Batch *batch) { static_cast<Harness *>(harness)->run(*batch); }

}
