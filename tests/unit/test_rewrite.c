#include "tests/unit/unit.h"

#include "evaluator/candidate/rewrite.h"

#define HEAD "#line 1 \"k.cu\"\n"
#define OPEN " static ::rkb::kernel rkb_kernel_; ::rkb::run(rkb_kernel_, __func__, [=]() mutable {"
#define CLOSE "}); "

typedef struct {
    const char *in, *out;
} row_t;

static void check_row(const row_t *row)
{
    rkb_error_t err = RKB_ERROR_INIT;
    char *out;
    size_t len;
    assert_status(rkb_rewrite_cuda("k.cu", row->in, strlen(row->in), &out, &len, &err), RKB_OK,
                  &err);
    assert_int_equal(len, strlen(out));
    assert_memory_equal(out, HEAD, strlen(HEAD));
    assert_string_equal(out + strlen(HEAD), row->out);
    free(out);
}

static void check_table(const row_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_row(&rows[i]);
}
#define CHECK_TABLE(_rows) check_table(_rows, sizeof _rows / sizeof _rows[0])

static void test_launches(void **state)
{
    (void)state;
    static const row_t rows[] = {
        {"k<<<1, 2>>>();", "(::rkb::launch_scope(1, 2), k());"},
        {"k<T, 256><<<g, b, s, st>>>(a, b);",
         "(::rkb::launch_scope(g, b, s, st), k<T, 256>(a, b));"},
        {"ns::k<A<B>><<<g, b>>>(f(x));", "(::rkb::launch_scope(g, b), ns::k<A<B>>(f(x)));"},
        {"return ::k<<<g, b>>>(x);", "return (::rkb::launch_scope(g, b), ::k(x));"},
        {"A<int>::template k<(1 > 0)><<<g, b>>>(x);",
         "(::rkb::launch_scope(g, b), A<int>::template k<(1 > 0)>(x));"},
        {"(*p)<<<g, b>>>(x);", "(::rkb::launch_scope(g, b), (*p)(x));"},
        {"o.k<<<g, b>>>(x);", "(::rkb::launch_scope(g, b), o.k(x));"},
        {"t[i + 1]<<<g, b>>>(x);", "(::rkb::launch_scope(g, b), t[i + 1](x));"},
        {"if (c) k<<<g, b>>>(x); else m<<<g, b>>>(y);",
         "if (c) (::rkb::launch_scope(g, b), k(x)); else (::rkb::launch_scope(g, b), m(y));"},
        {"k<<<dim3(a >> 1, 2), max(a, b)>>>(x);",
         "(::rkb::launch_scope(dim3(a >> 1, 2), max(a, b)), k(x));"},
        {"k<<<g, b, n * sizeof(A<int>)>>>(x);",
         "(::rkb::launch_scope(g, b, n * sizeof(A<int>)), k(x));"},
        {"k<<<g, A<2>::v, B<f<3>>::w>>>(x);",
         "(::rkb::launch_scope(g, A<2>::v, B<f<3>>::w), k(x));"},
        {"k<<<g, b>>>\n  (x);", "(::rkb::launch_scope(g, b), k\n  (x));"},
        {"k<<<g, // grid\n b>>>(x);", "(::rkb::launch_scope(g, b), k\n(x));"},
    };
    CHECK_TABLE(rows);
}

static void test_launches_in_macros(void **state)
{
    (void)state;
    static const row_t rows[] = {
        {"#define L(n) k_##n<<<1, \\\n 2>>>(x); \\\n y\nz",
         "#define L(n) (::rkb::launch_scope(1, 2), k_##n \\\n(x)); \\\n y\nz"},
        {"#define C(k) k<<<1, 2>>>\n",
         "#define C(k) [&](auto &&...rkb_a) { (::rkb::launch_scope(1, 2), "
         "k(static_cast<decltype(rkb_a)>(rkb_a)...)); }\n"},
    };
    CHECK_TABLE(rows);
}

static void test_kernels(void **state)
{
    (void)state;
    static const row_t rows[] = {
        {"__global__ void k(int *x) { *x = 1; }",
         "__global__ void k(int *x) {" OPEN " *x = 1; " CLOSE "}"},
        {"__global__ void k(int *x);", "__global__ void k(int *x);"},
        {"template <class T> static __global__ void __launch_bounds__(256, 2) k(T a = T{}) {}",
         "template <class T> static __global__ void __launch_bounds__(256, 2) k(T a = T{}) {"
         " static ::rkb::kernel rkb_kernel_{static_cast<unsigned>(256)}; "
         "::rkb::run(rkb_kernel_, __func__, [=]() mutable {" CLOSE "}"},
        {"__global__ __launch_bounds__(A<1, 2>::n) void k() {}",
         "__global__ __launch_bounds__(A<1, 2>::n) void k() {"
         " static ::rkb::kernel rkb_kernel_{static_cast<unsigned>(A<1, 2>::n)}; "
         "::rkb::run(rkb_kernel_, __func__, [=]() mutable {" CLOSE "}"},
        {"__global__ void k() { if (a) {\n#ifdef X\n} else {\n#else\n}\n{\n#endif\n} } int z;",
         "__global__ void k() {" OPEN " if (a) {\n#ifdef X\n} else {\n#else\n}\n{\n#endif\n} " CLOSE
         "} int z;"},
        {"#define K(n) __global__ void n() { f(); }\nK(a)",
         "#define K(n) __global__ void n() {" OPEN " f(); " CLOSE "}\nK(a)"},
        {"#define KERNEL __global__ void\nKERNEL k() { }",
         "#define KERNEL __global__ void\nKERNEL k() {" OPEN " " CLOSE "}"},
    };
    CHECK_TABLE(rows);
}

static void test_shared_memory(void **state)
{
    (void)state;
    static const row_t rows[] = {
        {"void f() { __shared__ float a[32]; }",
         "void f() { static  float a[32]; RKB_SHARED_ENTER(a) }"},
        {"void f() { __shared__ A<int, 3> a[2][N < 3 ? 1 : 2], b; }",
         "void f() { static  A<int, 3> a[2][N < 3 ? 1 : 2], b; RKB_SHARED_ENTER(a) "
         "RKB_SHARED_ENTER(b) }"},
        {"void f() { __shared__ __align__(16) T a[N]; }",
         "void f() { static  __align__(16) T a[N]; RKB_SHARED_ENTER(a) }"},
        {"void f() { __shared__ alignas(16) float a; }",
         "void f() { alignas(16) static   float a; RKB_SHARED_ENTER(a) }"},
        {"void f() { static __shared__ int a; }",
         "void f() { static   int a; RKB_SHARED_ENTER(a) }"},
        {"void f() { float __shared__ a[4]; }",
         "void f() { static float  a[4]; RKB_SHARED_ENTER(a) }"},
        {"__shared__ int a;", "static  int a;"},
        {"namespace n { __shared__ int a; }", "namespace n { static  int a; }"},
        {"void f() { extern __shared__ float s[]; }",
         "void f() { static float *const s = (float *)::rkb_rt_dynamic_shared; }"},
        {"extern volatile __shared__ __align__(8) unsigned char s[];",
         "static volatile unsigned char *const s = (volatile unsigned char "
         "*)::rkb_rt_dynamic_shared;"},
        {"void f() { extern __shared__ N::T<2> s[][4]; }",
         "void f() { static N :: T < 2 > (*const s)[4] = (N :: T < 2 > "
         "(*)[4])::rkb_rt_dynamic_shared; }"},
        {"#define S(T) extern __shared__ T s[];\n",
         "#define S(T) static T *const s = (T *)::rkb_rt_dynamic_shared;\n"},
    };
    CHECK_TABLE(rows);
}

static void test_text_that_is_left_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "int a = 1 >> 2; b = c >>= 3; A<B<C<D>>> e;",
        "const char *s = \"k<<<1, 2>>>(x) __shared__\"; // k<<<1\n/* __global__ void f() { */",
        "auto r = R\"x(k<<<1,2>>>(\"a\") )\" asm(\"bad\"))x\"; char q = '\"', w = '\\'';",
        "int m = 1'000'000; float f = 0x1.8p+3f; long l = 0xFFul;",
        "asm volatile(\"\" ::: \"memory\"); __asm__ __volatile__(\" \\n\\t\");",
        "#if 0\nit's <<< not code\n#else\nint a;\n#endif\n",
        "#error it's wrong <<<\n#pragma unroll 4\n",
        "#include <vector>\n#include \"local.h\"\n",
        "__attribute__((__noinline__)) void f();",
        "int a; \\\nint b;\r\nint c;\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_row(&(row_t){texts[i], texts[i]});
}

static void test_small_rules(void **state)
{
    (void)state;
    static const row_t rows[] = {
        {"__device__ __noinline__ int f();", "__device__ __attribute__((__noinline__)) int f();"},
        {"#include <torch/extension.h>\n#include <cuda.h>\n# include \"ATen/ATen.h\"\n",
         "#include <torch/torch/extension.h>\n#include <cuda/cuda.h>\n"
         "# include \"torch/ATen/ATen.h\"\n"},
        {"cudaFuncSetAttribute((const void *)k<T>, a, n);", "cudaFuncSetAttribute(k<T>, a, n);"},
        {"cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&k), g, b, args);",
         "cudaLaunchCooperativeKernel((&k), g, b, args);"},
        {"\xef\xbb\xbfint a;", "int a;"},
    };
    CHECK_TABLE(rows);
}

static void test_name_is_quoted(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    char *out;
    size_t len;
    assert_status(rkb_rewrite_cuda("a\"b\\c\nd", "x", 1, &out, &len, &err), RKB_OK, &err);
    assert_string_equal(out, "#line 1 \"a\\\"b\\\\c?d\"\nx");
    free(out);
}

static void test_errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        rkb_status_t status;
        const char *text;
    } rows[] = {
        {"a\n/* b", RKB_ERR_INVALID, "line 2: the comment is not closed"},
        {"a\n\n\"b\n", RKB_ERR_INVALID, "line 3: missing closing \""},
        {"'a", RKB_ERR_INVALID, "line 1: missing closing '"},
        {"R\"(a", RKB_ERR_INVALID, "line 1: the raw string is not closed"},
        {"\nk<<<1, 2>>>;", RKB_ERR_INVALID, "line 2: the launch has no argument list after >>>"},
        {"k<<<1, 2;", RKB_ERR_INVALID, "line 1: the launch configuration <<< is not closed"},
        {"k<<<>>>(x);", RKB_ERR_INVALID, "line 1: the launch configuration <<<>>> is empty"},
        {"= <<<1, 2>>>(x);", RKB_ERR_INVALID, "line 1: no kernel before <<<"},
        {"__global__ void k() {", RKB_ERR_INVALID, "line 1: the kernel's body is not closed"},
        {"void f() { __shared__ int a }", RKB_ERR_INVALID, "line 1: the __shared__ declaration"},
        {"\nasm(\"mov.u32 %0, %%laneid;\" : \"=r\"(x));", RKB_ERR_UNSUPPORTED,
         "line 2: inline PTX (mov.u32)"},
        {"#define F(x) asm volatile (\"{ .reg .b16 t;\" \"cvt.f16 t, %0; }\")\n",
         RKB_ERR_UNSUPPORTED, "line 1: inline PTX (cvt.f16)"},
        {"asm(PTX);", RKB_ERR_UNSUPPORTED, "line 1: inline PTX (assembler text from a macro)"},
        {"#include \"/etc/passwd\"", RKB_ERR_INVALID, "line 1: #include of a file outside"},
        {"#include <../x>", RKB_ERR_INVALID, "line 1: #include of a file outside"},
        {"#inc\\\nlude \"a/../../x\"", RKB_ERR_INVALID, "line 1: #include of a file outside"},
        {"%:include \"/x\"", RKB_ERR_INVALID, "line 1: #include of a file outside"},
        {"/* */ # /**/ include \"//x\"", RKB_ERR_INVALID, "line 1: malformed #include"},
        {"#define P \"/x\"\n#include P", RKB_ERR_INVALID, "line 2: #include needs a file name"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_error_t err = RKB_ERROR_INIT;
        char *out = NULL;
        size_t len;
        assert_status(rkb_rewrite_cuda("k.cu", rows[i].in, strlen(rows[i].in), &out, &len, &err),
                      rows[i].status, &err);
        assert_contains(err.text, rows[i].text);
        assert_null(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_launches_in_macros),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_text_that_is_left_alone),
        cmocka_unit_test(test_small_rules),
        cmocka_unit_test(test_name_is_quoted),
        cmocka_unit_test(test_errors_name_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
