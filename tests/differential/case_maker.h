// One network with one operator (or as few as its operator needs), with inputs; and the families that they come in.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "linnet/graph/network_builder.h"
#include "linnet/run/session.h"
#include "tests/differential/choices.h"

namespace linnet::differential {

using graph::Quantization;
using Shape = std::vector<int32_t>;

// What numbers of a tensor may be.
struct Limits {
  double low = 0, high = 0;  // both 0: whatever the type holds; floats then go as far as the case's kind of numbers says
};

class CaseMaker {
 public:
  explicit CaseMaker(Choices& choices) : draw(choices), numbers_(static_cast<uint64_t>(choices.range(0, 4095)) + 1), kind_(choices.range(0, 4)) {}

  Choices& draw;
  graph::NetworkBuilder n;
  int inferences = 2;

  // Dimensions from 1 to `most`, elements no more than 2000.
  Shape shape(int rank, int most = 7);
  Shape shape_of_any_rank(int most_rank = 4, int most = 7) { return shape(draw.range(1, most_rank), most); }

  // For activations of a type; float and wide integers have none.
  Quantization quantization(Type type);
  int zero_point(Type type);
  float scale();
  Quantization scaled(Type type, float scale) { return with_zero_point(type, scale); }

  int input(Type type, Shape of, Quantization q = {}, Limits limits = {});
  int constant(Type type, Shape of, Quantization q = {}, Limits limits = {});
  int input_or_constant(Type type, Shape of, Quantization q = {}, Limits limits = {});

  // The inputs of every inference, by tensor.
  std::vector<std::vector<TensorBytes>> inputs();

 private:
  Quantization with_zero_point(Type type, float scale);
  std::vector<uint8_t> numbers(const graph::TensorSpec& tensor, Limits limits);
  double number(Type type, Limits limits);
  Random numbers_;
  int kind_;  // of numbers: small, anything, anything and extremes, extremes, all alike
  std::map<int, Limits> limits_;
};

struct Family {
  std::string name;  // "conv_2d.int8"
  std::function<void(CaseMaker&)> make;
};
using Families = std::vector<Family>;

// One per group of operators.
void add_sums(Families& families);
void add_elementwise(Families& families);
void add_shapes(Families& families);
void add_state(Families& families);

inline bool is_quantized(Type type) { return type == Type::int8 || type == Type::int16 || type == Type::uint8; }

}  // namespace linnet::differential
