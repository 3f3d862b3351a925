// QEMU TCG plugin that counts executed instructions, by address and by phase.
//
//   -plugin liblinnet_count.so,out=FILE[,mark=ADDRESS,mark_bytes=N,phase_base=ADDRESS][,region=NAME:BASE:BYTES]...
//           [,inside=ADDRESS]...
//
// Every instruction has its own counter, raised by generated code in front of it: an instruction that faults in the
// middle of a translated block has been counted and the ones after it have not, so that the numbers are those of
// single-stepping. (A counter per block would be wrong exactly there; the price over it is about a factor of two in
// speed.) A condition that fails inside an IT block still counts: the core spends the slot. Do not combine with
// -icount, which runs blocks twice.
//
// `mark` is the function linnet::port::phase: the address of its load, minus `phase_base`, is the phase that begins.
// Its own instructions are booked apart. With `region`, data accesses are counted by region too, at about a third of
// the speed.
//
// With `inside`, the entry of a function (a kernel, say), instructions are also counted from there to the return to the
// instruction behind the call, whatever it calls included. Calls and returns are followed on a stack of return
// addresses; a tail call stays in its caller's frame.
//
// FILE is text, a record a line, complete when it exists (it is renamed into place):
//   linnet-count 1
//   total N                                 all instructions, the marker's included
//   marker N                                those inside `mark`
//   phase ID VISITS N MIN MAX               in order of first appearance; ID is `start` before the first mark
//   range ID BEGIN END INSTRUCTIONS COUNT   consecutive instructions, each executed COUNT times (hexadecimal addresses)
//   inside ID N                             only with `inside`
//   access ID REGION LOADS LOAD_BYTES STORES STORE_BYTES
//   end
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "qemu_plugin_api.h"

extern "C" {
[[gnu::visibility("default")]] extern int qemu_plugin_version;
int qemu_plugin_version = 1;
}

namespace {

constexpr uint64_t start_phase = ~uint64_t{0};

struct Instruction {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t count = 0;  // raised by generated code
  uint64_t seen = 0;   // of these, already booked to a phase
};

struct Region {
  std::string name;
  uint64_t base = 0;
  uint64_t bytes = 0;
};

struct Accesses {
  uint64_t loads = 0, load_bytes = 0, stores = 0, store_bytes = 0;
};

struct Phase {
  uint64_t id = 0;
  uint64_t visits = 0, instructions = 0, inside = 0, least = ~uint64_t{0}, most = 0;
  std::vector<uint64_t> counts;    // by index of instruction
  std::vector<Accesses> accesses;  // by region; the last is "elsewhere"
};

class Counter {
 public:
  bool parse(int argc, char** argv, std::string_view target) {
    riscv_ = target.starts_with("riscv");
    for (int i = 0; i < argc; ++i) {
      const std::string_view text = argv[i];
      const size_t equals = text.find('=');
      const std::string_view name = text.substr(0, equals);
      const std::string value(equals == text.npos ? std::string_view() : text.substr(equals + 1));
      if (name == "out") {
        out_ = value;
      } else if (name == "mark") {
        mark_ = strtoull(value.c_str(), nullptr, 0);
      } else if (name == "mark_bytes") {
        mark_bytes_ = strtoull(value.c_str(), nullptr, 0);
      } else if (name == "phase_base") {
        phase_base_ = strtoull(value.c_str(), nullptr, 0);
      } else if (name == "inside") {
        entries_.insert(strtoull(value.c_str(), nullptr, 0));
      } else if (name == "region" && parse_region(value)) {
      } else {
        fprintf(stderr, "linnet_count: argument '%s' is not understood\n", argv[i]);
        return false;
      }
    }
    if (out_.empty()) {
      fprintf(stderr, "linnet_count: no out=FILE given\n");
      return false;
    }
    if (!regions_.empty()) regions_.push_back({"elsewhere", 0, ~uint64_t{0}});
    enter(start_phase);
    return true;
  }

  void translated(qemu_plugin_tb* tb) {
    const size_t count = qemu_plugin_tb_n_insns(tb);
    for (size_t i = 0; i < count; ++i) {
      qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
      Instruction& record = find(qemu_plugin_insn_vaddr(insn), qemu_plugin_insn_size(insn));
      if (!entries_.empty()) follow(insn, record, i == 0);
      qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &record.count, 1);
      // QEMU 7.2 calls nobody back who asks for loads only (MEM_R); the marker has no stores.
      if (in_mark(record.address)) {
        qemu_plugin_register_vcpu_mem_cb(insn, marked, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, this);
      } else if (!regions_.empty()) {
        qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, this);
      }
    }
  }

  void finish() {
    leave();
    const std::string part = out_ + ".part";
    FILE* file = fopen(part.c_str(), "w");
    if (file == nullptr) {
      fprintf(stderr, "linnet_count: cannot write '%s'\n", part.c_str());
      return;
    }
    write(file);
    const bool good = ferror(file) == 0;
    if (fclose(file) != 0 || !good || rename(part.c_str(), out_.c_str()) != 0) {
      fprintf(stderr, "linnet_count: cannot write '%s'\n", out_.c_str());
    }
  }

 private:
  bool parse_region(const std::string& text) {
    const size_t first = text.find(':');
    const size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
    if (second == text.npos) return false;
    regions_.push_back({text.substr(0, first), strtoull(text.c_str() + first + 1, nullptr, 0),
                        strtoull(text.c_str() + second + 1, nullptr, 0)});
    return true;
  }

  // Calls end a block and returns begin one. Callbacks come before the instruction that they stand at is counted.
  void follow(qemu_plugin_insn* insn, Instruction& record, bool begins_block) {
    if (begins_block) qemu_plugin_register_vcpu_insn_exec_cb(insn, arrived, QEMU_PLUGIN_CB_NO_REGS, &record);
    if (entries_.contains(record.address)) {
      qemu_plugin_register_vcpu_insn_exec_cb(insn, entered, QEMU_PLUGIN_CB_NO_REGS, nullptr);
    }
    if (is_call(insn)) qemu_plugin_register_vcpu_insn_exec_cb(insn, called, QEMU_PLUGIN_CB_NO_REGS, &record);
  }

  bool is_call(const qemu_plugin_insn* insn) const {
    uint16_t half[2] = {};
    const size_t bytes = qemu_plugin_insn_size(insn);
    memcpy(half, qemu_plugin_insn_data(insn), bytes);
    if (riscv_) {
      const uint32_t word = half[0] | static_cast<uint32_t>(half[1]) << 16;
      if (bytes == 4) return (word & 0xFF7) == 0x0E7 || (word & 0xFFF) == 0x0EF;                   // JALR, JAL with ra
      return (half[0] & 0xE003) == 0x2001 || ((half[0] & 0xF07F) == 0x9002 && half[0] != 0x9002);  // C.JAL, C.JALR
    }
    if (bytes == 4) return (half[0] & 0xF800) == 0xF000 && (half[1] & 0xD000) == 0xD000;  // BL
    return (half[0] & 0xFF87) == 0x4780;                                                  // BLX
  }

  static void called(unsigned, void* data);
  static void arrived(unsigned, void* data);
  static void entered(unsigned, void*);

  // One record per address for ever: blocks overlap, and are translated again when QEMU's cache is flushed.
  Instruction& find(uint64_t address, uint64_t bytes) {
    const auto [at, fresh] = index_.try_emplace(address, instructions_.size());
    if (fresh) instructions_.push_back({address, bytes});
    return instructions_[at->second];
  }

  bool in_mark(uint64_t address) const { return address - mark_ < mark_bytes_; }

  static void marked(unsigned, qemu_plugin_meminfo_t, uint64_t vaddr, void* self) {
    auto* counter = static_cast<Counter*>(self);
    counter->leave();
    counter->enter(vaddr - counter->phase_base_);
  }

  static void accessed(unsigned, qemu_plugin_meminfo_t info, uint64_t vaddr, void* self) {
    auto* counter = static_cast<Counter*>(self);
    const size_t last = counter->regions_.size() - 1;
    size_t region = 0;
    while (region < last && vaddr - counter->regions_[region].base >= counter->regions_[region].bytes) ++region;
    Accesses& accesses = counter->phases_[counter->current_].accesses[region];
    const uint64_t bytes = uint64_t{1} << qemu_plugin_mem_size_shift(info);
    if (qemu_plugin_mem_is_store(info)) {
      ++accesses.stores;
      accesses.store_bytes += bytes;
    } else {
      ++accesses.loads;
      accesses.load_bytes += bytes;
    }
  }

  void enter(uint64_t id) {
    const auto [at, fresh] = phase_index_.try_emplace(id, phases_.size());
    if (fresh) {
      phases_.emplace_back().id = id;
      phases_.back().accesses.resize(regions_.size());
    }
    current_ = at->second;
    ++phases_[current_].visits;
  }

  // Ends a visit of the current phase.
  void leave() {
    book();
    Phase& phase = phases_[current_];
    phase.least = std::min(phase.least, visit_);
    phase.most = std::max(phase.most, visit_);
    visit_ = 0;
  }

  // Books what has been executed since the last time to the current phase.
  void book() {
    Phase& phase = phases_[current_];
    phase.counts.resize(instructions_.size());
    uint64_t here = 0;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      Instruction& record = instructions_[i];
      const uint64_t fresh = record.count - record.seen;
      if (fresh == 0) continue;
      record.seen = record.count;
      if (in_mark(record.address)) {
        marker_ += fresh;
      } else {
        phase.counts[i] += fresh;
        here += fresh;
      }
    }
    phase.instructions += here;
    if (inside_) phase.inside += here;
    visit_ += here;
  }

  void write(FILE* file) {
    uint64_t total = marker_;
    for (const Phase& phase : phases_) total += phase.instructions;
    fprintf(file, "linnet-count 1\ntotal %llu\nmarker %llu\n", wide(total), wide(marker_));
    std::vector<size_t> by_address(instructions_.size());
    for (size_t i = 0; i < by_address.size(); ++i) by_address[i] = i;
    std::sort(by_address.begin(), by_address.end(),
              [this](size_t a, size_t b) { return instructions_[a].address < instructions_[b].address; });
    for (const Phase& phase : phases_) {
      const std::string id = phase.id == start_phase ? "start" : std::to_string(phase.id);
      fprintf(file, "phase %s %llu %llu %llu %llu\n", id.c_str(), wide(phase.visits), wide(phase.instructions),
              wide(phase.least), wide(phase.most));
      if (!entries_.empty()) fprintf(file, "inside %s %llu\n", id.c_str(), wide(phase.inside));
      write_ranges(file, phase, id.c_str(), by_address);
      for (size_t i = 0; i < regions_.size(); ++i) {
        const Accesses& a = phase.accesses[i];
        fprintf(file, "access %s %s %llu %llu %llu %llu\n", id.c_str(), regions_[i].name.c_str(), wide(a.loads),
                wide(a.load_bytes), wide(a.stores), wide(a.store_bytes));
      }
    }
    fprintf(file, "end\n");
  }

  void write_ranges(FILE* file, const Phase& phase, const char* id, const std::vector<size_t>& by_address) {
    uint64_t begin = 0, end = 0, instructions = 0, count = 0;
    const auto flush = [&] {
      if (count == 0) return;
      fprintf(file, "range %s %llx %llx %llu %llu\n", id, wide(begin), wide(end), wide(instructions), wide(count));
    };
    for (const size_t i : by_address) {
      const Instruction& record = instructions_[i];
      const uint64_t here = i < phase.counts.size() ? phase.counts[i] : 0;
      if (here != count || record.address != end) {
        flush();
        begin = record.address, instructions = 0, count = here;
      }
      end = record.address + record.bytes;
      ++instructions;
    }
    flush();
  }

  static unsigned long long wide(uint64_t value) { return value; }

  std::string out_;
  uint64_t mark_ = 0, mark_bytes_ = 0, phase_base_ = 0;
  std::vector<Region> regions_;
  std::deque<Instruction> instructions_;  // a deque, because generated code points into it
  std::unordered_map<uint64_t, size_t> index_;
  std::vector<Phase> phases_;
  std::unordered_map<uint64_t, size_t> phase_index_;
  size_t current_ = 0;
  uint64_t marker_ = 0;
  uint64_t visit_ = 0;  // instructions of the current visit so far
  bool riscv_ = false;
  std::unordered_set<uint64_t> entries_;
  std::vector<uint64_t> returns_;  // of the calls that have not returned
  bool inside_ = false;
  size_t inside_depth_ = 0;  // size of returns_ at the entry
};

// Outlives main(): QEMU ends by exit(), and calls back from there.
Counter& counter() {
  static auto* instance = new Counter;
  return *instance;
}

void Counter::called(unsigned, void* data) {
  const auto* call = static_cast<const Instruction*>(data);
  counter().returns_.push_back(call->address + call->bytes);
}

void Counter::arrived(unsigned, void* data) {
  Counter& self = counter();
  if (self.returns_.empty() || self.returns_.back() != static_cast<const Instruction*>(data)->address) return;
  if (self.inside_ && self.returns_.size() == self.inside_depth_) {
    self.book();
    self.inside_ = false;
  }
  self.returns_.pop_back();
}

void Counter::entered(unsigned, void*) {
  Counter& self = counter();
  if (self.inside_) return;
  self.book();
  self.inside_ = true;
  self.inside_depth_ = self.returns_.size();
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info,
                                                                  int argc, char** argv) {
  if (!counter().parse(argc, argv, info->target_name)) return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, [](qemu_plugin_id_t, qemu_plugin_tb* tb) { counter().translated(tb); });
  qemu_plugin_register_atexit_cb(
      id, [](qemu_plugin_id_t, void*) { counter().finish(); }, nullptr);
  return 0;
}
