#include "linnet/core/real.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

namespace linnet {
namespace {

double value(Real r) { return std::ldexp(static_cast<double>(r.mantissa), r.exponent); }

class RealTest : public ::testing::Test {
 protected:
  float scale() { return std::ldexp(1.0f + static_cast<float>(random_() & 0x7fffff) / 8388608.0f, static_cast<int>(random_() % 40) - 30); }
  std::mt19937 random_{1};
};

TEST_F(RealTest, RoundsAsDoublesDo) {
  for (int i = 0; i < 200000; ++i) {
    float a = scale(), b = scale(), c = scale();
    ASSERT_EQ(value(real(a)), a);
    ASSERT_EQ(value(real(a) * real(b)), static_cast<double>(a) * b);
    double quotient = static_cast<double>(a) * b / c;
    ASSERT_EQ(value(divide(real(a) * real(b), c)), quotient) << a << ' ' << b << ' ' << c;
    ASSERT_EQ(value(real(a) * divide(b, c)), static_cast<double>(a) * (static_cast<double>(b) / c));
    ASSERT_EQ(to_float(real(a) * real(b)), a * b);
    ASSERT_EQ(to_float(divide(a, b)), a / b);
    ASSERT_EQ(less(real(a), real(b)), a < b);
  }
}

TEST_F(RealTest, DividesPowersOfTwoAndNeighboursExactly) {
  for (float a : {1.0f, 0.5f, std::nextafter(1.0f, 2.0f), std::nextafter(1.0f, 0.0f)})
    for (float b : {1.0f, 3.0f, std::nextafter(2.0f, 1.0f), std::nextafter(2.0f, 3.0f)})
      EXPECT_EQ(value(divide(a, b)), static_cast<double>(a) / b);
}

TEST_F(RealTest, QuantizesMultipliersAsTfliteDoes) {
  for (int i = 0; i < 200000; ++i) {
    float a = scale(), b = scale();
    double real_multiplier = static_cast<double>(a) / b;
    int shift;
    int64_t q = std::llround(std::frexp(real_multiplier, &shift) * 2147483648.0);
    if (q == int64_t{1} << 31) q /= 2, ++shift;
    if (shift < -31) q = 0, shift = 0;
    QuantizedMultiplier got = quantize_multiplier(divide(a, b));
    ASSERT_EQ(got.multiplier, q);
    ASSERT_EQ(got.shift, shift);
    if (real_multiplier < 1e9) {
      ASSERT_EQ(round_to_int(divide(a, b)), std::llround(real_multiplier));
    }
  }
}

TEST_F(RealTest, TheShortWayToAMultiplierIsTheLongWay) {
  auto both = [](float a, float b, float c) {
    QuantizedMultiplier quick = QuotientMultiplier(a, c)(b), slow = quantize_multiplier(divide(real(a) * real(b), c));
    ASSERT_EQ(quick.multiplier, slow.multiplier) << a << ' ' << b << ' ' << c;
    ASSERT_EQ(quick.shift, slow.shift) << a << ' ' << b << ' ' << c;
  };
  for (int i = 0; i < 3000000; ++i) both(scale(), scale(), scale());
  for (float a : {1.0f, std::nextafter(1.0f, 2.0f), std::nextafter(2.0f, 1.0f), 1e-30f, 1e-40f, 0.0f, 3e38f})
    for (float b : {1.0f, std::nextafter(1.0f, 2.0f), std::nextafter(2.0f, 1.0f), 0.5f})
      for (float c : {1.0f, std::nextafter(1.0f, 2.0f), std::nextafter(2.0f, 1.0f), 1e30f}) both(a, b, c);
}

TEST(FixedPoint, HighMultiplyAgreesWithItsDefinition) {
  std::mt19937 random(2);
  for (int i = 0; i < 200000; ++i) {
    int32_t a = static_cast<int32_t>(random()), b = static_cast<int32_t>(random());
    long double exact = static_cast<long double>(a) * b / 2147483648.0L;
    ASSERT_EQ(saturating_rounding_doubling_high_mul(a, b), std::llround(exact));
    int e = static_cast<int>(random() % 32);
    ASSERT_EQ(rounding_divide_by_power_of_two(a, e), std::llround(std::ldexp(static_cast<double>(a), -e)));
  }
  EXPECT_EQ(saturating_rounding_doubling_high_mul(INT32_MIN, INT32_MIN), INT32_MAX);
}

}  // namespace
}  // namespace linnet
