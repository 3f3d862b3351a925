#include "linnet/core/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace linnet {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class F, class G>
double largest_relative_error(float from, float to, F f, G exact) {
  double worst = 0;
  for (int i = 0; i <= 400000; ++i) {
    float x = from + (to - from) * static_cast<float>(i) / 400000.0f;
    double y = exact(static_cast<double>(x));
    if (std::abs(y) < 1e-37) continue;  // denormal results have fewer bits
    worst = std::max(worst, std::abs(static_cast<double>(f(x)) - y) / std::abs(y));
  }
  return worst;
}

TEST(Math, ExpIsExactToOneInAMillion) {
  EXPECT_LT(largest_relative_error(-87.0f, 88.7f, exp_float, [](double x) { return std::exp(x); }), 1e-6);
  EXPECT_LT(largest_relative_error(-1.0f, 1.0f, exp_float, [](double x) { return std::exp(x); }), 3e-7);
  EXPECT_EQ(exp_float(0.0f), 1.0f);
}

TEST(Math, ExpAtTheEnds) {
  EXPECT_EQ(exp_float(89.0f), infinity);
  EXPECT_EQ(exp_float(infinity), infinity);
  EXPECT_EQ(exp_float(-infinity), 0.0f);
  EXPECT_EQ(exp_float(-std::numeric_limits<float>::max()), 0.0f);
  EXPECT_NEAR(exp_float(-100.0f), 3.8e-44f, 1e-44f);
  EXPECT_TRUE(std::isnan(exp_float(std::nanf(""))));
}

TEST(Math, TanhIsExactToOneInAMillion) {
  auto exact = [](double x) { return std::tanh(x); };
  EXPECT_LT(largest_relative_error(-100.0f, 100.0f, tanh_float, exact), 1e-6);
  EXPECT_LT(largest_relative_error(-1.1f, 1.1f, tanh_float, exact), 1e-6);
  EXPECT_LT(largest_relative_error(-1e-3f, 1e-3f, tanh_float, exact), 1e-6);
  EXPECT_EQ(tanh_float(infinity), 1.0f);
  EXPECT_EQ(tanh_float(-infinity), -1.0f);
  EXPECT_TRUE(std::isnan(tanh_float(std::nanf(""))));
}

TEST(Math, LogisticIsExactToOneInAMillion) {
  EXPECT_LT(largest_relative_error(-85.0f, 40.0f, logistic_float, [](double x) { return 1 / (1 + std::exp(-x)); }), 1e-6);
  EXPECT_EQ(logistic_float(-infinity), 0.0f);
  EXPECT_EQ(logistic_float(infinity), 1.0f);
}

}  // namespace
}  // namespace linnet
