/* Counter-based streams: known answers, exactness, statistics, and bits that must never change. */
#include "common/hash.h"
#include "evaluator/task/philox.h"
#include "evaluator/task/random.h"
#include "evaluator/task/task_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char sample[] =
    "{\"schema\": \"rkb-task/1\", \"name\": \"s\", \"suite\": \"unit\", \"symbols\": [{\"name\": "
    "\"N\"}], \"inputs\": ["
    "{\"name\": \"n\", \"shape\": [\"N\"], \"init\": {\"normal\": {\"mean\": 1, \"std\": 2}}},"
    "{\"name\": \"u\", \"shape\": [\"N\"], \"init\": {\"uniform\": {\"low\": -1, \"high\": 3}}},"
    "{\"name\": \"i\", \"shape\": [\"N\"], \"dtype\": \"int64\", \"init\": {\"randint\": {\"low\": "
    "-2, \"high\": 8}}},"
    "{\"name\": \"c\", \"shape\": [\"N\"], \"init\": {\"constant\": {\"value\": 0.25}}},"
    "{\"name\": \"h\", \"shape\": [\"N\"], \"dtype\": \"float16\", \"init\": {\"uniform\": "
    "{\"low\": 0, \"high\": 1}}},"
    "{\"name\": \"b\", \"shape\": [\"N\"], \"dtype\": \"bfloat16\", \"init\": {\"uniform\": "
    "{\"low\": -2, \"high\": -1}}},"
    "{\"name\": \"d\", \"shape\": [\"N\"], \"dtype\": \"float64\", \"init\": {\"normal\": "
    "{\"mean\": 0, \"std\": 1}}},"
    "{\"name\": \"t\", \"shape\": [\"N\"], \"dtype\": \"bool\", \"init\": {\"randint\": {\"low\": "
    "0, \"high\": 2}}},"
    "{\"name\": \"s8\", \"shape\": [\"N\"], \"dtype\": \"int8\", \"init\": {\"randint\": {\"low\": "
    "-128, \"high\": 128}}},"
    "{\"name\": \"m\", \"shape\": [\"N\"], \"init\": {\"normal\": {\"mean\": 1, \"std\": 2}}}],"
    "\"program\": [{\"op\": \"aten::relu\", \"args\": [\"$n\"], \"result\": \"y\"}], \"outputs\": "
    "[\"y\"], \"forward\": {\"args\": [\"n\"], \"tolerance\": {\"atol\": 0, \"rtol\": 0}}, "
    "\"configs\": {\"smoke\": [{\"N\": 100003}]}}";

typedef struct {
    rkb_task_t *task;
    rkb_instance_t *instance;
} fixture_t;

static int setup(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    fixture_t *fixture = calloc(1, sizeof *fixture);
    *state = fixture;
    if (rkb_task_parse("sample", sample, strlen(sample), &fixture->task, &err) != RKB_OK ||
        rkb_instance_create(fixture->task, rkb_task_config(fixture->task, 0, RKB_FORWARD, 0),
                            &fixture->instance, &err) != RKB_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    fixture_t *fixture = *state;
    rkb_instance_destroy(fixture->instance);
    rkb_task_destroy(fixture->task);
    free(fixture);
    return 0;
}

/* The tensor of that name, freshly drawn. */
static void *draw(const fixture_t *fixture, const char *name, uint64_t seed, unsigned trial,
                  const rkb_tensor_spec_t **spec)
{
    rkb_error_t err = RKB_ERROR_INIT;
    for (size_t i = 0; i < rkb_instance_tensor_count(fixture->instance); i++) {
        *spec = rkb_instance_tensor(fixture->instance, i);
        if (strcmp((*spec)->name, name) != 0)
            continue;
        void *data = malloc((*spec)->bytes);
        assert_non_null(data);
        assert_int_equal(rkb_instance_generate(fixture->instance, *spec, seed, trial, data, &err),
                         RKB_OK);
        return data;
    }
    fail_msg("no tensor %s", name);
    return NULL;
}

/* Known answers of Philox4x32-10 that its authors published with the algorithm. */
static void test_philox_gives_the_published_numbers(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], result[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_philox_block_t block;
        memcpy(block.word, rows[i].counter, sizeof block.word);
        block = rkb_philox4x32_10(block, rows[i].key[0], rows[i].key[1]);
        assert_memory_equal(block.word, rows[i].result, sizeof block.word);
    }
}

static void test_an_element_depends_on_its_index_alone(void **state)
{
    rkb_stream_t stream = {123, 456};
    uint64_t whole[101], part[3];
    (void)state;
    rkb_stream_fill(&stream, 0, 101, whole);
    for (uint64_t first = 0; first + 3 <= 101; first += 2) {
        rkb_stream_fill(&stream, first, 3, part);
        assert_memory_equal(part, whole + first, sizeof part);
    }
    rkb_stream_fill(&stream, UINT64_C(1) << 40, 1, part); /* beyond 32 bits of block number */
    assert_int_not_equal(part[0], whole[0]);
}

static void test_unit_interval_excludes_its_ends(void **state)
{
    (void)state;
    assert_true(rkb_bits_to_unit(0) > 0);
    assert_true(rkb_bits_to_unit(UINT64_MAX) < 1);
    assert_true(rkb_bits_to_unit(UINT64_C(1) << 63) > 0.5);
}

static void test_log_agrees_with_libm(void **state)
{
    (void)state;
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        double ours = rkb_portable_log(x), theirs = log(x);
        if (fabs(ours - theirs) > 4e-16 * fabs(theirs) + 1e-300)
            fail_msg("log(%a) is %a, libm has %a", x, ours, theirs);
    }
    for (double x = 0.5; x < 2; x += 0.000977)
        assert_true(fabs(rkb_portable_log(x) - log(x)) <= 5e-16 * fabs(log(x)));
}

/* Φ(z(p)) = p, with Φ from libm's erfc. */
static void test_normal_quantile_inverts_the_distribution(void **state)
{
    (void)state;
    assert_true(rkb_normal_quantile(0.5) == 0);
    for (double p = 0x1p-53; p < 0.5; p *= 1.01) {
        double z = rkb_normal_quantile(p);
        double back = erfc(-z / sqrt(2)) / 2;
        /* dp/p = -z dz near the tails, so the relative error grows with z² */
        if (fabs(back - p) > p * (1 + z * z) * 1.5e-15)
            fail_msg("p = %g: z = %.17g gives back %.17g", p, z, back);
        if (p > 1e-3)
            assert_true(fabs(rkb_normal_quantile(1 - p) + z) < 1e-12);
    }
}

/* Each 16-bit pattern comes back, and ties between neighbours go to the even one. */
static void check_narrow(uint16_t (*narrow)(double), int fraction_bits, int bias)
{
    uint16_t infinity = (uint16_t)(0x7fff >> fraction_bits << fraction_bits);
    double before = 0;
    for (uint16_t pattern = 0; pattern < infinity; pattern++) {
        int exponent = pattern >> fraction_bits;
        int fraction = pattern & ((1 << fraction_bits) - 1);
        double value =
            exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
                          : ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
        assert_int_equal(narrow(value), pattern);
        assert_int_equal(narrow(-value), pattern | 0x8000);
        if (pattern > 0) {
            double middle = (before + value) / 2;
            uint16_t even = (uint16_t)(pattern - (pattern & 1));
            assert_int_equal(narrow(middle), even);
            assert_int_equal(narrow(nextafter(middle, 0)), pattern - 1);
            assert_int_equal(narrow(nextafter(middle, INFINITY)), pattern);
        }
        before = value;
    }
    assert_int_equal(narrow(before * 1.5), infinity);
    assert_int_equal(narrow(-INFINITY), infinity | 0x8000);
    assert_true(narrow(NAN) > infinity);
    assert_int_equal(narrow(1e-320), 0);
}

static void test_halves_round_to_nearest_even(void **state)
{
    (void)state;
    check_narrow(rkb_double_to_f16, 10, 15);
    check_narrow(rkb_double_to_bf16, 7, 127);
}

static void test_normal_numbers_have_their_moments(void **state)
{
    const rkb_tensor_spec_t *spec;
    float *data = draw(*state, "n", 1, 0, &spec);
    double n = (double)spec->numel, mean = 0, square = 0, cube = 0, fourth = 0;
    for (int64_t i = 0; i < spec->numel; i++)
        mean += (data[i] - 1) / 2;
    mean /= n;
    for (int64_t i = 0; i < spec->numel; i++) {
        double z = (data[i] - 1) / 2 - mean;
        square += z * z / n;
        cube += z * z * z / n;
        fourth += z * z * z * z / n;
    }
    /* five standard errors each */
    assert_true(fabs(mean) < 5 / sqrt(n));
    assert_true(fabs(square - 1) < 5 * sqrt(2 / n));
    assert_true(fabs(cube) < 5 * sqrt(15 / n));
    assert_true(fabs(fourth - 3) < 5 * sqrt(96 / n));
    free(data);
}

/* Largest distance between the empirical and the uniform distribution, and serial correlation. */
static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void test_uniform_numbers_are_uniform(void **state)
{
    const rkb_tensor_spec_t *spec;
    float *data = draw(*state, "u", 2, 0, &spec);
    double n = (double)spec->numel, serial = 0, worst = 0;
    for (int64_t i = 0; i + 1 < spec->numel; i++)
        serial += (data[i] - 1.0) * (data[i + 1] - 1.0);
    assert_true(fabs(serial / n) < 5 * (4.0 / 3) / sqrt(n)); /* variance of U(-1,3) is 4/3 */
    qsort(data, (size_t)spec->numel, sizeof *data, compare_floats);
    for (int64_t i = 0; i < spec->numel; i++) {
        double distance = fabs((data[i] + 1.0) / 4 - ((double)i + 0.5) / n);
        worst = distance > worst ? distance : worst;
    }
    assert_true(data[0] >= -1 && data[spec->numel - 1] < 3);
    assert_true(worst < 2.2 / sqrt(n)); /* Kolmogorov: exceeded once in 16,000 draws */
    free(data);
}

static void test_integers_cover_their_range_evenly(void **state)
{
    const rkb_tensor_spec_t *spec;
    int64_t *data = draw(*state, "i", 3, 0, &spec);
    double counts[10] = {0}, chi = 0, expected = (double)spec->numel / 10;
    for (int64_t i = 0; i < spec->numel; i++) {
        assert_in_range(data[i] + 2, 0, 9);
        counts[data[i] + 2]++;
    }
    for (int k = 0; k < 10; k++)
        chi += (counts[k] - expected) * (counts[k] - expected) / expected;
    assert_true(chi < 33.7); /* 9 degrees of freedom: once in 10,000 draws */
    free(data);

    int8_t *bytes = draw(*state, "s8", 3, 0, &spec);
    bool lowest = false, highest = false;
    for (int64_t i = 0; i < spec->numel; i++) {
        lowest = lowest || bytes[i] == -128;
        highest = highest || bytes[i] == 127;
    }
    assert_true(lowest && highest);
    free(bytes);

    uint8_t *truths = draw(*state, "t", 3, 0, &spec);
    int64_t ones = 0;
    for (int64_t i = 0; i < spec->numel; i++) {
        assert_true(truths[i] <= 1);
        ones += truths[i];
    }
    assert_true(fabs((double)ones - (double)spec->numel / 2) < 5 * sqrt((double)spec->numel) / 2);
    free(truths);
}

/* With few bits rounding reaches an end often, so the excluded end must be kept out by hand. */
static void test_an_excluded_end_stays_out_after_rounding(void **state)
{
    const rkb_tensor_spec_t *spec;
    uint16_t *half = draw(*state, "h", 4, 0, &spec);
    bool near_end = false;
    for (int64_t i = 0; i < spec->numel; i++) {
        assert_true(half[i] < 0x3c00); /* 1.0 */
        near_end = near_end || half[i] == 0x3bff;
    }
    assert_true(near_end);
    free(half);
    uint16_t *brain = draw(*state, "b", 4, 0, &spec);
    for (int64_t i = 0; i < spec->numel; i++)
        assert_in_range(brain[i], 0xbf81, 0xc000); /* -2 to the number below -1 */
    free(brain);
}

static void test_streams_differ_in_every_part_of_their_name(void **state)
{
    const rkb_tensor_spec_t *spec;
    float *base = draw(*state, "n", 7, 0, &spec), *again = draw(*state, "n", 7, 0, &spec);
    assert_memory_equal(base, again, spec->bytes);
    float *others[] = {draw(*state, "n", 8, 0, &spec), draw(*state, "n", 7, 1, &spec),
                       draw(*state, "m", 7, 0, &spec)};
    for (size_t k = 0; k < 3; k++) {
        int same = 0;
        double correlation = 0;
        for (int64_t i = 0; i < spec->numel; i++) {
            same += base[i] == others[k][i];
            correlation += (base[i] - 1.0) * (others[k][i] - 1.0) / 4;
        }
        assert_true(same < 20);
        assert_true(fabs(correlation) < 5 * sqrt((double)spec->numel));
        free(others[k]);
    }
    free(base);
    free(again);
}

/* An item is reproduced from its seed for ever: a change of these hashes breaks old reports. */
static void test_bits_never_change(void **state)
{
    static const struct {
        const char *name, *sha256;
    } rows[] = {
        {"n", "c4ad1ec86528829e30fa7d4e1d62d09a4c980a05c86297bc4a959c1a5839f6d4"},
        {"u", "666663fdefaddee1bf008e1d0405ab75305d05557bd484035142493c98aa4b23"},
        {"i", "0ba8d3821a294be632d3cdc6221271647d0805f1ad5e34d8c41a763d927a7666"},
        {"h", "8e9e827bea50505dfcd0e9d4ab33a57c1a6a3fd12ea12345f158b092acb4d0b1"},
        {"b", "5164710f7328cac11c3651460e30e33d429c0b0dc9ccdab5bc9056e643b2cb50"},
        {"d", "680dd3f17fcdf4ab19988ed9d1ee82795c38c0cb1543aab78179044cbbc276d5"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const rkb_tensor_spec_t *spec;
        rkb_error_t err = RKB_ERROR_INIT;
        char hex[RKB_SHA256_HEX_SIZE];
        void *data = draw(*state, rows[k].name, UINT64_C(0x123456789abcdef0), 3, &spec);
        assert_int_equal(rkb_sha256_buffer(data, spec->bytes, hex, &err), RKB_OK);
        assert_string_equal(hex, rows[k].sha256);
        free(data);
    }
}

static void test_constants_are_constant(void **state)
{
    const rkb_tensor_spec_t *spec;
    float *data = draw(*state, "c", 5, 0, &spec);
    for (int64_t i = 0; i < spec->numel; i++)
        assert_true(data[i] == 0.25f);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_gives_the_published_numbers),
        cmocka_unit_test(test_an_element_depends_on_its_index_alone),
        cmocka_unit_test(test_unit_interval_excludes_its_ends),
        cmocka_unit_test(test_log_agrees_with_libm),
        cmocka_unit_test(test_normal_quantile_inverts_the_distribution),
        cmocka_unit_test(test_halves_round_to_nearest_even),
        cmocka_unit_test(test_normal_numbers_have_their_moments),
        cmocka_unit_test(test_uniform_numbers_are_uniform),
        cmocka_unit_test(test_integers_cover_their_range_evenly),
        cmocka_unit_test(test_an_excluded_end_stays_out_after_rounding),
        cmocka_unit_test(test_streams_differ_in_every_part_of_their_name),
        cmocka_unit_test(test_bits_never_change),
        cmocka_unit_test(test_constants_are_constant),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
