// The kernels and operators that person_detect uses: int8 convolutions, pooling, reshape and softmax.
#pragma once
#include "linnet/kernels/table.h"
#include "linnet/ops/conv_2d.h"
#include "linnet/ops/depthwise_conv_2d.h"
#include "linnet/ops/pool_2d.h"
#include "linnet/ops/reshape.h"
#include "linnet/ops/softmax.h"

namespace budget {
namespace ops = linnet::ops;
using Kernels = linnet::List<ops::conv_2d::Int8, ops::depthwise_conv_2d::Int8, ops::pool_2d::AverageInt<int8_t>, ops::softmax::Int8<int8_t>>;
using Operators = linnet::List<ops::conv_2d::IntOperator<int8_t>, ops::depthwise_conv_2d::IntOperator<int8_t>,
                               ops::pool_2d::IntOperator<1, int8_t, ops::pool_2d::AverageInt<int8_t>>,
                               ops::softmax::IntOperator<int8_t, int8_t>, ops::reshape::Reshape>;
template <class L>
struct KernelsOf;
template <class... K>
struct KernelsOf<linnet::List<K...>> : linnet::Kernels<K...> {};
}  // namespace budget
