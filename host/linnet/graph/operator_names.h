// Names of the .tflite format's operators, for people.
#pragma once
#include <string>

#include "linnet/model/model.h"

namespace linnet {

// "CONV_2D", or "operator 999" for codes that are not known here.
std::string operator_name(int32_t builtin_code);

// Name (of a custom operator its own), version and types: "CONV_2D version 3, int8 int8 int32 -> int8".
std::string describe_operator(const Model& model, const Model::Subgraph& graph, uint32_t index);

}  // namespace linnet
