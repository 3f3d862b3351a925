// The kernels and operators that person_detect uses: int8 convolutions, pooling, reshape and softmax.
#pragma once
#include "linnet/kernels/table.h"
#include "linnet/ops/average_pool_2d.h"
#include "linnet/ops/conv_2d.h"
#include "linnet/ops/depthwise_conv_2d.h"
#include "linnet/ops/reshape.h"
#include "linnet/ops/softmax.h"

namespace budget {
using Kernels = linnet::List<linnet::ops::conv_2d::Int8, linnet::ops::depthwise_conv_2d::Int8,
                             linnet::ops::average_pool_2d::Int8, linnet::ops::softmax::Int8>;
using Operators = linnet::List<linnet::ops::conv_2d::Conv2DInt8, linnet::ops::depthwise_conv_2d::DepthwiseConv2DInt8,
                               linnet::ops::average_pool_2d::AveragePool2DInt8, linnet::ops::softmax::SoftmaxInt8,
                               linnet::ops::reshape::Reshape>;
template <class L>
struct KernelsOf;
template <class... K>
struct KernelsOf<linnet::List<K...>> : linnet::Kernels<K...> {};
}  // namespace budget
