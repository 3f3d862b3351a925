// The steps of a network that run a given computation, with their operands' contents before and after: what block_check.h
// and lag_check.h need to run the computation again in other ways.
#pragma once
#include <vector>

#include "linnet/run/catalogue.h"
#include "tests/support/run_model.h"

namespace linnet::test {

template <class C>
struct CapturedStep {
  typename C::Params params;
  std::vector<uint8_t> roles;
  std::vector<Extent> extents;
  std::vector<TensorBytes> before, after;  // per operand, as many bytes as `check` says; empty where absent
  std::vector<bool> present;
  size_t count() const { return roles.size(); }
  // Scratch of the step itself, rather than what one step of a node leaves for the next.
  bool is_scratch(size_t i) const { return roles[i] == role_scratch && extents[i].written; }
  bool is_read(size_t i) const { return roles[i] != role_out && roles[i] != role_scratch && roles[i] != role_accumulator; }
};

// Runs a straight-line network once. Computation C is named as ops::pad::Pad<uint8_t>.
template <class C>
std::vector<CapturedStep<C>> capture_steps(const std::vector<uint8_t>& file, const std::vector<TensorBytes>& inputs) {
  std::vector<CapturedStep<C>> captured;
  const BuildTable& table = catalogue().table;
  Model model = open_model({file.data(), file.size()});
  BuiltProgram program = build_program(model, table);
  GuardedMemory arena(program.arena_bytes_ready());
  Interpreter net;
  Status status = net.init({program.bytes.data(), program.bytes.size()}, *table.kernels, arena.span());
  if (!status.ok()) throw Error(describe(status, net.where()));
  for (uint32_t i = 0; i < net.input_count(); ++i) std::memcpy(net.input(i).data<uint8_t>(), inputs.at(i).data(), inputs[i].size());

  auto* step = reinterpret_cast<const Step*>(program.bytes.data() + program.header().code.offset);
  for (; static_cast<StepKind>(step->kind) != StepKind::end; step = next_step(step)) {
    bool matches = static_cast<StepKind>(step->kind) == StepKind::run && table.facts[step->kernel].computation == computation_id(C::name);
    if (!matches) {
      net.step();
      continue;
    }
    CapturedStep<C> s;
    std::memcpy(&s.params, program.bytes.data() + step->params, sizeof s.params);
    s.extents.resize(max_operands);
    EXPECT_TRUE(C::check(s.params, s.extents.data(), step->operands)) << C::name << " refuses parameters of its own operator";
    auto snapshot = [&] {
      std::vector<TensorBytes> all;
      for (int i = 0; i < step->operands; ++i) {
        const Operand& operand = operands_of(step)[i];
        if (operand.region == region_none) all.emplace_back();
        else all.emplace_back(net.address(operand), net.address(operand) + s.extents[static_cast<size_t>(i)].bytes);
      }
      return all;
    };
    for (int i = 0; i < step->operands; ++i) {
      s.roles.push_back(operands_of(step)[i].role);
      s.present.push_back(operands_of(step)[i].region != region_none);
    }
    s.before = snapshot();
    net.step();
    s.after = snapshot();
    captured.push_back(std::move(s));
  }
  EXPECT_FALSE(captured.empty()) << "no step of the network runs " << C::name;
  return captured;
}

}  // namespace linnet::test
