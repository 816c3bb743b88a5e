/* What the test programs of the light headers share: cmocka, an arena, calls of entries. */
#ifndef RKB_TESTS_TORCH_TEST_H
#define RKB_TESTS_TORCH_TEST_H

#include <torch/extension.h>

#include <cstdarg>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
extern "C" {
#include <cmocka.h>
#include "evaluator/cell/runtime/runtime.h"
}

enum { TEST_ARENA = 1 << 22 };
extern unsigned char *test_arena;

inline int test_setup(void **)
{
    rkb_runtime_begin(test_arena, 0, TEST_ARENA, 0x7fc0dead);
    return 0;
}

/* Nothing of a test may stay in the heap. */
inline int test_teardown(void **)
{
    const rkb_heap_alloc_t *records;
    size_t n = rkb_heap_records(&records), live = 0;
    for (size_t i = 0; i < n; i++)
        live += records[i].live;
    return live == 0 ? 0 : (fprintf(stderr, "%zu tensors leaked\n", live), 1);
}

#define TORCH_TEST(name) cmocka_unit_test_setup_teardown(name, test_setup, test_teardown)
#define TORCH_TEST_MAIN(group, ...)                                                                \
    unsigned char *test_arena;                                                                     \
    int main()                                                                                     \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        test_arena = static_cast<unsigned char *>(aligned_alloc(4096, TEST_ARENA));                \
        int rc = cmocka_run_group_tests_name(group, tests, NULL, NULL);                            \
        free(test_arena);                                                                          \
        return rc;                                                                                 \
    }

#define assert_throws(statement, part)                                                             \
    do {                                                                                           \
        std::string text_ = "(nothing was thrown)";                                                \
        try {                                                                                      \
            statement;                                                                             \
        } catch (const std::exception &e) {                                                        \
            text_ = e.what();                                                                      \
        }                                                                                          \
        if (text_.find(part) == std::string::npos)                                                 \
            fail_msg("\"%s\" does not contain \"%s\"", text_.c_str(), part);                       \
    } while (0)

inline std::vector<int64_t> ints(c10::IntArrayRef list)
{
    return list.vec();
}
#define assert_ints(list, ...)                                                                     \
    assert_true(ints(list) == (std::vector<int64_t>(std::initializer_list<int64_t> __VA_ARGS__)))

/** 0, 1, 2, … in the given shape, on the device. */
inline torch::Tensor iota(c10::IntArrayRef sizes, torch::ScalarType dtype = torch::kFloat)
{
    torch::Tensor t = torch::empty(sizes, torch::dtype(torch::kFloat).device(torch::kCUDA));
    for (int64_t i = 0; i < t.numel(); i++)
        t.data_ptr<float>()[i] = static_cast<float>(i);
    return t.to(dtype);
}

inline std::vector<float> floats(const torch::Tensor &t)
{
    torch::Tensor c = t.to(torch::kFloat).contiguous();
    return std::vector<float>(c.data_ptr<float>(), c.data_ptr<float>() + c.numel());
}
#define assert_floats(tensor, ...)                                                                 \
    assert_true(floats(tensor) == (std::vector<float>(std::initializer_list<float> __VA_ARGS__)))

#endif
