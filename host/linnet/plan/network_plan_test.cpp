#include "linnet/plan/network_plan.h"

#include <chrono>

#include "linnet/graph/network_builder.h"
#include "linnet/run/catalogue.h"
#include "tests/support/models.h"
#include "tests/support/run_model.h"

namespace linnet::plan {
namespace {

const BuildTable& table() { return catalogue().table; }

std::vector<TensorBytes> run(const BuiltProgram& program, const std::vector<TensorBytes>& inputs) {
  GuardedMemory arena(program.arena_bytes_ready());
  Interpreter net;
  Status status = net.init({program.bytes.data(), program.bytes.size()}, *table().kernels, arena.span());
  if (!status.ok()) throw Error(describe(status, net.where()));
  std::vector<TensorBytes> outputs = infer(net, inputs);
  EXPECT_EQ(infer(net, inputs).size(), outputs.size());
  EXPECT_TRUE(arena.intact());
  return outputs;
}

std::vector<TensorBytes> some_inputs(const BuiltProgram& program) {
  std::vector<TensorBytes> inputs;
  auto* ports = reinterpret_cast<const Port*>(program.bytes.data() + program.header().inputs.offset);
  for (uint32_t i = 0; i < program.header().inputs.count; ++i) {
    TensorBytes bytes(ports[i].bytes);
    for (size_t b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<uint8_t>(b * 37 + 11);
    if (static_cast<Type>(ports[i].type) == Type::float32)
      for (size_t f = 0; f < bytes.size() / 4; ++f) {
        float value = static_cast<float>((f * 37 + 11) & 255) / 128 - 1;
        std::memcpy(&bytes[4 * f], &value, 4);
      }
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

struct Mark {
  const char* model;
  uint32_t arena_bytes;  // promised, Program made ahead of time
};

class NetworkPlanTest : public ::testing::TestWithParam<Mark> {};

TEST_P(NetworkPlanTest, NeedsNoMoreThanPromisedAndChangesNoBit) {
  LINNET_NEEDS_MODELS();
  std::vector<uint8_t> file = test::read_file(test::models_folder() / GetParam().model);
  Model model = open_model({file.data(), file.size()});
  BuiltProgram greedy = build_program(model, table());
  NetworkPlan planned = plan_network(model, table());
  std::vector<uint8_t> travelled = planned_model(planned);
  Model again = open_model({travelled.data(), travelled.size()});
  BuiltProgram program = build_program(again, table());
  std::vector<TensorBytes> inputs = some_inputs(greedy);
  EXPECT_EQ(run(program, inputs), run(greedy, inputs));
  std::printf("%s: greedy %u, planned %u (activations %ld, bound %ld%s), promised %u\n", GetParam().model, greedy.arena_bytes_ready(),
              program.arena_bytes_ready(), long(planned.arena_bytes), long(planned.lower_bound_bytes),
              planned.placement_optimal ? ", optimal" : "", GetParam().arena_bytes);
  EXPECT_LE(program.arena_bytes_ready(), GetParam().arena_bytes);
}

INSTANTIATE_TEST_SUITE_P(Models, NetworkPlanTest,
                         ::testing::Values(Mark{"mlperf_tiny/kws_ref_model.tflite", 9200}, Mark{"mlperf_tiny/vww_96_int8.tflite", 38500},
                                           Mark{"mlperf_tiny/pretrainedResnet_quant.tflite", 35000},
                                           Mark{"mlperf_tiny/ad01_int8.tflite", 1100}, Mark{"tflite_micro/person_detect.tflite", 38500},
                                           Mark{"tflite_micro/micro_speech_quantized.tflite", 4600},
                                           Mark{"tinyengine/vww.tflite", 87000}));

}  // namespace
}  // namespace linnet::plan
