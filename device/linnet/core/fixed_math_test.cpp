#include "linnet/core/fixed_math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace linnet {
namespace {

double q(int32_t x, int integer_bits) { return x / std::ldexp(1.0, 31 - integer_bits); }

TEST(FixedMath, ExpOfNegativeFollowsTheExponential) {
  for (int64_t x = -2147483648LL; x <= 0; x += 977777) {
    auto a = static_cast<int32_t>(x);
    for (int bits : {4, 5}) EXPECT_NEAR(q(exp_of_negative(a, bits), 0), std::exp(q(a, bits)), 2e-6) << a;
  }
  EXPECT_EQ(exp_of_negative(0, 5), INT32_MAX);
}

TEST(FixedMath, LogisticAndTanhFollowTheRealOnes) {
  for (int64_t x = -2147483648LL; x <= 2147483647LL; x += 1333333) {
    auto a = static_cast<int32_t>(x);
    EXPECT_NEAR(q(logistic_q4(a), 0), 1 / (1 + std::exp(-q(a, 4))), 2e-6) << a;
    EXPECT_NEAR(q(tanh_q4(a), 0), std::tanh(q(a, 4)), 4e-6) << a;
  }
  EXPECT_EQ(logistic_q4(0), 1 << 30);
  EXPECT_EQ(tanh_q4(0), 0);
}

TEST(FixedMath, TablesInterpolateWithinTwoSteps) {
  for (int32_t x = -200000; x <= 200000; x += 7) {
    EXPECT_NEAR(logistic_int16(x), 32768 / (1 + std::exp(-x / 12288.0)), 2) << x;
    EXPECT_NEAR(tanh_int16(x), 32768 * std::tanh(x / 12288.0), 3) << x;
  }
  EXPECT_EQ(logistic_int16(INT32_MIN), 1);  // nothing overflows where the scale ends
  EXPECT_EQ(tanh_int16(INT32_MIN), -32767);
}

}  // namespace
}  // namespace linnet
