#include "torch_test.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

/** Arithmetic of both types against float arithmetic and one rounding, over a grid of patterns. */
template <typename T>
static void check_arithmetic()
{
    for (uint32_t i = 0; i < 65536; i += 97) {
        for (uint32_t j = 5; j < 65536; j += 3571) {
            T a(static_cast<unsigned short>(i), T::from_bits());
            T b(static_cast<unsigned short>(j), T::from_bits());
            float fa = a, fb = b;
            if (std::isnan(fa) || std::isnan(fb))
                continue;
            T sum = a + b, product = a * b;
            assert_int_equal(T(fa + fb).x, sum.x);
            assert_int_equal(T(fa * fb).x, product.x);
            assert_int_equal(T(fa - fb).x, (a - b).x);
            if (fb != 0)
                assert_int_equal(T(fa / fb).x, (a / b).x);
            assert_true((a < b) == (fa < fb) && (a == b) == (fa == fb) && (a >= b) == (fa >= fb));
        }
    }
}

/** The type of every mixed expression, and that all of them compile. */
template <typename T>
static void check_types()
{
    T h = 1.5f;
    static_assert(std::is_same<decltype(h + h), T>::value, "");
    static_assert(std::is_same<decltype(h * 2.0f), float>::value, "");
    static_assert(std::is_same<decltype(2.0f / h), float>::value, "");
    static_assert(std::is_same<decltype(h - 2.0), double>::value, "");
    static_assert(std::is_same<decltype(h * 2), T>::value, "");
    static_assert(std::is_same<decltype(int64_t(2) + h), T>::value, "");
    static_assert(std::is_same<decltype(h + size_t(1)), T>::value, "");
    h += 1.0f;
    h -= T(0.5f);
    h *= 2;
    const T &itself = h;
    h /= itself;
    assert_true(h == 1.0f && h == 1 && h == 1.0 && 1 == h && h != 2.5f);
    assert_true(h < 2 && 0.5 <= h && h > T(0.5f) && !(h >= 1.5f));
    float acc = 2.0f;
    acc += h;
    acc *= h;
    double wide = acc;
    wide -= h;
    assert_true(wide == 2.0 && -h == T(-1.0f) && +h == h);
    T zero = 0;
    T from_double = static_cast<T>(0.25);
    assert_true(static_cast<int>(h) == 1 && static_cast<double>(from_double) == 0.25 && zero == 0);
    assert_true(std::max(h, zero) == h && std::max<float>(h, 3.0f) == 3.0f);
    assert_true(expf(zero) == 1.0f && fmaxf(h, 0.0f) == 1.0f && sqrtf(h) == 1.0f);
    assert_true((h > T(0) ? static_cast<float>(h) : 0.0f) == 1.0f);
    assert_true(__ldg(&h) == h);
}

template <typename T>
static void check_limits(float max, float min, float epsilon)
{
    using L = std::numeric_limits<T>;
    assert_true(L::max() == max && L::lowest() == -max && L::min() == min);
    assert_true(L::epsilon() == epsilon && std::isinf(static_cast<float>(L::infinity())));
    assert_true(std::isnan(static_cast<float>(L::quiet_NaN())) && L::is_specialized);
    assert_true(T(1.0f) + T(epsilon) > T(1.0f) && T(1.0f) + T(epsilon / 2) == T(1.0f));
}

static void test_arithmetic_is_float_rounded_once(void **)
{
    check_arithmetic<c10::Half>();
    check_arithmetic<c10::BFloat16>();
}

static void test_mixed_expressions(void **)
{
    check_types<at::Half>();
    check_types<at::BFloat16>();
}

static void test_limits(void **)
{
    check_limits<c10::Half>(65504.0f, 6.103515625e-5f, 0.0009765625f);
    check_limits<c10::BFloat16>(3.38953138925e38f, 1.17549435e-38f, 0.0078125f);
}

static void test_cuda_types_share_the_bits(void **)
{
    c10::Half h = 1.5f;
    __half cuda = h;
    c10::Half back = cuda;
    assert_int_equal(back.x, 0x3e00);
    assert_true(__half2float(static_cast<__half>(back)) == 1.5f);
    c10::BFloat16 b = -2.0f;
    __nv_bfloat16 nv = b;
    assert_int_equal(c10::BFloat16(nv).x, 0xc000);
    torch::Tensor x = iota({4}, torch::kHalf);
    __half *p = reinterpret_cast<__half *>(x.data_ptr<at::Half>());
    assert_true(__half2float(p[3]) == 3.0f);
    assert_ptr_equal(x.data_ptr<__half>(), p);
}

/** All patterns widen in the header as in the runtime. */
static void test_header_and_runtime_agree(void **)
{
    torch::Tensor bits = torch::empty({65536}, torch::dtype(torch::kHalf));
    for (int i = 0; i < 65536; i++)
        bits.data_ptr<at::Half>()[i].x = static_cast<unsigned short>(i);
    torch::Tensor wide = bits.to(torch::kFloat);
    for (int i = 0; i < 65536; i++) {
        float a = bits.data_ptr<at::Half>()[i], b = wide.data_ptr<float>()[i];
        assert_true(memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b)));
    }
}

TORCH_TEST_MAIN("torch_half", TORCH_TEST(test_arithmetic_is_float_rounded_once),
                TORCH_TEST(test_mixed_expressions), TORCH_TEST(test_limits),
                TORCH_TEST(test_cuda_types_share_the_bits),
                TORCH_TEST(test_header_and_runtime_agree))
