// Writes .tflite files, for tests and for networks that programs make up: single operators, chains, control flow, state,
// hybrid types, broken files, in a few lines each.
//
//     NetworkBuilder n(seed);
//     int x = n.input(Type::int8, {1, 8, 8, 3}, per_tensor(0.5f, 3));
//     int y = n.conv_2d(x, {.channels = 4, .kernel = {3, 3}, .activation = Activation::relu6});
//     n.output(n.softmax(n.fully_connected(y, {.channels = 10})));
//     std::vector<uint8_t> file = n.write();
//
// What is not given is made up: weights and biases are random numbers from the seed (the same on every machine), scales of
// outputs such that random inputs neither saturate nor vanish, versions as the TensorFlow Lite converter chooses them.
// Everything can be changed in `network` before it is written, sense or nonsense: nothing is checked.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "linnet/core/types.h"

namespace linnet::graph {

struct Quantization {
  std::vector<float> scales;  // empty: not quantised (or, as an argument: choose)
  std::vector<int64_t> zero_points;
  int32_t dimension = 0;
  uint8_t details_type = 0;  // not 0: quantised in another way, which nothing here supports
  bool operator==(const Quantization&) const = default;
};
Quantization per_tensor(float scale, int64_t zero_point = 0);
Quantization per_channel(std::vector<float> scales, int32_t dimension);  // zero points 0

// ---- What a file contains -------------------------------------------------------------------------------------------

struct TensorSpec {
  Type type = Type::float32;
  std::vector<int32_t> shape = {};
  Quantization quantization = {};
  std::vector<uint8_t> data = {};  // a constant's, little-endian
  bool is_variable = false;
  std::string name = {};
  bool omit_shape = false;        // no shape vector at all, as some writers do for scalars
  int64_t buffer = -1;            // -1: one of its own if there is data, else buffer 0
  std::vector<int32_t> shape_signature = {};
  bool sparse = false;            // with an (empty) table of sparsity parameters
};

struct Option {  // one field of an option table
  uint8_t field;
  std::variant<bool, int8_t, int32_t, float, std::vector<int32_t>, std::string> value;
};

struct OperatorSpec {
  int32_t code = 0;  // of schema: BuiltinOperator; 32: custom
  int32_t version = 1;
  std::vector<int> inputs = {};  // -1: absent
  std::vector<int> outputs = {};
  uint8_t options_type = 0;  // number in schema: union BuiltinOptions; 0: no table
  std::vector<Option> options = {};
  std::vector<int> intermediates = {};
  std::string custom_name = {};
  std::vector<uint8_t> custom_options = {};
};

struct SubgraphSpec {
  std::string name = {};
  std::vector<TensorSpec> tensors = {};
  std::vector<int> inputs = {};
  std::vector<int> outputs = {};
  std::vector<OperatorSpec> operators = {};
};

struct SignatureSpec {
  std::string key;
  std::vector<std::pair<std::string, int>> inputs;   // name, tensor
  std::vector<std::pair<std::string, int>> outputs;
  int subgraph = 0;
};

struct Network {
  std::vector<SubgraphSpec> subgraphs = {};
  std::vector<SignatureSpec> signatures = {};
  std::vector<std::pair<std::string, std::vector<uint8_t>>> metadata = {};
  std::string description = "made by Linnet";
  bool external_data = false;     // data of constants and custom options behind the flatbuffer, as in files above 2 GB
  uint64_t inline_offset = 0;     // written as the offset of buffers that lie in the flatbuffer; 0 and 1 mean just that
  bool older_codes_only = false;  // operator codes in the older 8-bit field alone
};

// The bytes of the .tflite. std::vector's storage is aligned to 16 bytes on 64-bit machines, as Model::open wants it.
std::vector<uint8_t> write(const Network& network);

// ---- Breaking files ---------------------------------------------------------------------------------------------------

struct Step {
  uint8_t field;     // model/schema.h
  int element = -1;  // of a vector of tables
};
// Position in the file of a field's inline bytes (a scalar, or the offset to something); throws if it is absent.
//     find_field(file, {{schema::Model::subgraphs, 0}, {schema::SubGraph::tensors, 2}}, schema::Tensor::buffer)
size_t find_field(const std::vector<uint8_t>& file, std::initializer_list<Step> path, uint8_t field);

template <class T>
void overwrite(std::vector<uint8_t>& file, size_t position, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) file.at(position + i) = reinterpret_cast<const uint8_t*>(&value)[i];
}

// ---- Making networks up -----------------------------------------------------------------------------------------------

enum class Padding : int8_t { same = 0, valid = 1 };
enum class Activation : int8_t { none = 0, relu = 1, relu_n1_to_1 = 2, relu6 = 3, tanh = 4, sign_bit = 5 };

constexpr int automatic = -2;  // make a tensor up
constexpr int absent = -1;     // leave an optional tensor out

struct ConvSpec {
  int channels = 1;  // of the output; DEPTHWISE_CONV_2D: a multiple of the input's
  std::array<int, 2> kernel = {1, 1};  // rows, columns
  std::array<int, 2> stride = {1, 1};
  std::array<int, 2> dilation = {1, 1};
  Padding padding = Padding::same;
  Activation activation = Activation::none;
  Type weights = Type::none;    // none: float32 for float inputs, else int8. int8 with float inputs is hybrid
  Type bias_type = Type::none;  // none: float32, int32 or (int16 activations) int64
  bool per_channel = true;      // scales of the weights; for FULLY_CONNECTED too
  int filter = automatic;
  int bias = automatic;
  bool keep_dims = false;  // FULLY_CONNECTED: all dimensions but the last stay
};

struct PoolSpec {
  std::array<int, 2> kernel = {2, 2};
  std::array<int, 2> stride = {2, 2};
  Padding padding = Padding::valid;
  Activation activation = Activation::none;
};

struct SliceSpec {
  std::vector<int32_t> begin, end, strides;
  int32_t begin_mask = 0, end_mask = 0, ellipsis_mask = 0, new_axis_mask = 0, shrink_axis_mask = 0;
};

struct SvdfSpec {
  int units = 4;
  int rank = 1;
  int memory = 4;  // time steps remembered
  Activation activation = Activation::none;
  Type weights = Type::none;       // int8 with float inputs is hybrid
  Type time_weights = Type::int16;  // of a wholly integer SVDF; its state has the same type
};

struct LstmSpec {
  int units = 4;
  bool time_major = false;
  float cell_clip = 0;
  Activation activation = Activation::tanh;
};

class NetworkBuilder {
 public:
  explicit NetworkBuilder(uint64_t seed = 1) : random_(seed) { network.subgraphs.emplace_back(); }

  Network network;

  std::vector<uint8_t> write() const { return graph::write(network); }

  // Subgraphs. Tensors and operators are added to the current one: at first 0, the main one.
  int add_subgraph(const std::string& name = {});  // makes it the current one
  void select_subgraph(int i) { current_ = i; }
  SubgraphSpec& subgraph() { return network.subgraphs[static_cast<size_t>(current_)]; }
  TensorSpec& tensor(int i) { return subgraph().tensors[static_cast<size_t>(i)]; }
  OperatorSpec& last_operator() { return subgraph().operators.back(); }

  // Tensors. Each returns an index into the current subgraph.
  int add(TensorSpec spec);
  int input(Type type, std::vector<int32_t> shape, Quantization quantization = {}, const std::string& name = {});
  void output(int tensor) { subgraph().outputs.push_back(tensor); }
  int variable(Type type, std::vector<int32_t> shape, Quantization quantization = {});
  template <class T>
  int constant(Type type, std::vector<int32_t> shape, const std::vector<T>& values, Quantization quantization = {}) {
    auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    return add({.type = type, .shape = std::move(shape), .quantization = std::move(quantization),
                .data = {bytes, bytes + values.size() * sizeof(T)}});
  }
  int indices(const std::vector<int32_t>& values);  // an int32 vector: shapes, axes, permutations
  // Integers from -limit to limit (0: what the type holds, wider ones 2000), floats from -1 to 1.
  int random_constant(Type type, std::vector<int32_t> shape, Quantization quantization = {}, int32_t limit = 0);
  std::vector<uint8_t> random_bytes(size_t count);
  std::vector<uint8_t> random_input(int tensor);  // the whole range of integer types; floats from -1 to 1

  // Any operator: adds the outputs' tensors and returns the first.
  int op(OperatorSpec spec, std::vector<TensorSpec> outputs);
  int custom(const std::string& name, std::vector<int> inputs, TensorSpec output, std::vector<uint8_t> options = {});

  // Operators by name. Arguments are tensors; the output's index is returned. Outputs of quantised inputs get `out`, or
  // what suits when that is empty.
  int conv_2d(int x, const ConvSpec& spec, Quantization out = {});
  int depthwise_conv_2d(int x, const ConvSpec& spec, Quantization out = {});
  int fully_connected(int x, const ConvSpec& spec, Quantization out = {});
  int transpose_conv(int x, const ConvSpec& spec, Quantization out = {});  // output = input * stride for SAME
  int average_pool_2d(int x, const PoolSpec& spec);
  int max_pool_2d(int x, const PoolSpec& spec);
  int add(int a, int b, Quantization out = {}, Activation activation = Activation::none);
  int sub(int a, int b, Quantization out = {}, Activation activation = Activation::none);
  int mul(int a, int b, Quantization out = {}, Activation activation = Activation::none);
  int relu(int x, Quantization out = {});
  int relu6(int x, Quantization out = {});
  int leaky_relu(int x, float alpha, Quantization out = {});
  int logistic(int x);
  int tanh(int x);
  int softmax(int x, float beta = 1);
  int mean(int x, std::vector<int32_t> axes, bool keep_dims = true, Quantization out = {});
  int pad(int x, const std::vector<std::array<int32_t, 2>>& before_after);
  int concatenation(std::vector<int> inputs, int axis, Quantization out = {}, Activation activation = Activation::none);
  int reshape(int x, std::vector<int32_t> shape);
  int transpose(int x, std::vector<int32_t> permutation);
  int strided_slice(int x, const SliceSpec& spec);
  int quantize(int x, Type type, Quantization out);
  int dequantize(int x);
  int svdf(int x, const SvdfSpec& spec, Quantization out = {});  // x: {batch, features}
  int unidirectional_sequence_lstm(int x, const LstmSpec& spec, Quantization out = {});  // x: {batch, time, features}
  int if_(int condition, std::vector<int> inputs, int then_subgraph, int else_subgraph, std::vector<TensorSpec> outputs);

 private:
  uint64_t next();
  double uniform();  // -1 to 1
  bool quantized(int tensor) { return !this->tensor(tensor).quantization.scales.empty(); }
  int make_filter(int x, const ConvSpec& spec, std::vector<int32_t> shape, int channel_dimension);
  int make_bias(int x, int filter, const ConvSpec& spec, int32_t channels);
  void say_bias_type(int x, const ConvSpec& spec, uint8_t number, int32_t version);
  Quantization sum_quantization(int x, int filter, size_t terms, Quantization out);
  int pool(int x, int32_t code, const PoolSpec& spec);
  int binary(int32_t code, uint8_t options_type, int version, int a, int b, Quantization out, Activation activation);
  int unary(OperatorSpec spec, int x, Quantization out);
  int8_t int_version(int x, int8_t if_float, int8_t if_int8, int8_t if_int16);

  uint64_t random_;
  int current_ = 0;
};

}  // namespace linnet::graph
