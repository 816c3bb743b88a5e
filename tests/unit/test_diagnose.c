#include "tests/unit/unit.h"

#include "evaluator/candidate/diagnose.h"

static void check(const char *log, bool failed, bool unsupported, const char *text)
{
    rkb_diagnosis_t d = rkb_diagnose(log, "k.cu");
    assert_int_equal(d.failed, failed);
    assert_int_equal(d.unsupported, unsupported);
    assert_string_equal(d.text, text);
}

static void test_first_error_with_its_line(void **state)
{
    (void)state;
    check("k.cu: In function 'int f()':\nk.cu:3:5: error: 'x' was not declared\n"
          "k.cu:9:1: error: other\n",
          true, false, "line 3: 'x' was not declared");
    check("k.cu:3:5: warning: unused\n", false, false, "");
    check("", false, false, "");
}

static void test_error_in_a_header_names_both(void **state)
{
    (void)state;
    check("In file included from k.cu:4:\n/a/b/tensor.h:12:3: error: static assertion failed: no\n",
          true, false, "line 4: static assertion failed: no (in tensor.h:12)");
    check("h.h: In instantiation of 'x':\nk.cu:7:2:   required from here\nh.h:5:1: error: bad\n",
          true, false, "line 7: bad (in h.h:5)");
}

static void test_what_the_device_lacks(void **state)
{
    (void)state;
    check("k.cu:1:10: fatal error: cuda/cublas_v2.h: No such file or directory\n", true, true,
          "the CPU device does not have <cublas_v2.h>");
    check("k.cu:1:10: fatal error: 'torch/ATen/x.h' file not found\n", true, true,
          "the CPU device does not have <ATen/x.h>");
    check("k.cu:1:10: fatal error: mine.h: No such file or directory\n", true, false,
          "line 1: mine.h: No such file or directory");
    check("k.cu:2:1: error: static assertion failed: rkb-unsupported: big tiles\n", true, true,
          "line 2: big tiles");
}

static void test_linker_and_limits(void **state)
{
    (void)state;
    check("/usr/bin/ld: a.o: in function `f':\nk.cu:(.text+0x1): warning: undefined reference to "
          "`rkb_rt_launch'\n",
          false, false, "");
    check("ld: k.cu:(.text+0x1): warning: undefined reference to `foo(int)'\n", true, false,
          "undefined symbol foo(int)");
    check("cc1plus: out of memory allocating 65536 bytes\n", true, false,
          "the compiler ran out of its memory limit");
}

static void test_log_is_cleaned(void **state)
{
    (void)state;
    const char *prefixes[] = {"/opt/rkb/include/", "/opt/rkb/include/cuda/", NULL};
    char *log = rkb_clean_log("In /opt/rkb/include/cuda/x.h:1\n"
                              "ld: x: undefined reference to `rkb_rt_launch'\n"
                              "/opt/rkb/include/rkb_abi.h:2 \033[1m\n",
                              prefixes, 1000);
    assert_string_equal(log, "In x.h:1\nrkb_abi.h:2 ?[1m\n");
    free(log);
    log = rkb_clean_log("abcdef\n", prefixes, 3);
    assert_string_equal(log, "abc");
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_error_with_its_line),
        cmocka_unit_test(test_error_in_a_header_names_both),
        cmocka_unit_test(test_what_the_device_lacks),
        cmocka_unit_test(test_linker_and_limits),
        cmocka_unit_test(test_log_is_cleaned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
