#include "torch_test.h"

#include <pybind11/stl.h>

/* ---- what is bound, in the styles that candidates use ---- */

static torch::Tensor forward(torch::Tensor x, const torch::Tensor &w, float eps, int n)
{
    torch::Tensor out = x.clone();
    out.data_ptr<float>()[0] = eps * static_cast<float>(n) + w.data_ptr<float>()[0];
    return out;
}

static std::vector<torch::Tensor> backward(const torch::Tensor &g, torch::Tensor &&x)
{
    return {g, x, torch::Tensor()};
}

static std::tuple<torch::Tensor, int64_t, double> pack(torch::Tensor x)
{
    return std::make_tuple(x, x.numel(), 0.5);
}

static int64_t optional_bias(c10::optional<torch::Tensor> bias, const at::optional<double> &eps,
                             std::optional<int64_t> n)
{
    return (bias.has_value() ? 1 : 0) + (eps.has_value() ? 2 : 0) + (n ? 4 : 0);
}

static int64_t lists(std::vector<int64_t> a, torch::IntArrayRef b, const std::vector<double> &c,
                     std::tuple<int, int> d, const std::vector<torch::Tensor> &e,
                     std::array<bool, 2> f)
{
    return a[0] + b[1] + static_cast<int64_t>(c[0]) + std::get<1>(d) +
           static_cast<int64_t>(e.size()) + f[1];
}

static void throws(int which)
{
    if (which == 0)
        throw std::runtime_error("a runtime error");
    if (which == 1)
        TORCH_CHECK(which == 0, "which is ", which, " instead of 0");
    if (which == 2)
        throw 42;
    if (which == 3)
        throw std::bad_alloc();
    if (which == 4)
        AT_ERROR("unsupported type: ", torch::kHalf);
    if (which == 5)
        throw std::string("text");
}

static torch::Tensor from_object(py::object o, py::list l, py::dict d = py::dict())
{
    (void)d;
    torch::Tensor t = o.cast<torch::Tensor>();
    return t.clone().fill_(l[1].cast<float>());
}

static std::string describe(py::object o)
{
    if (o.is_none())
        return "none";
    if (py::isinstance<py::str>(o))
        return "str " + o.cast<std::string>();
    if (py::isinstance<torch::Tensor>(o))
        return "tensor";
    if (py::isinstance<py::int_>(o))
        return "int " + std::to_string(o.cast<int>());
    if (py::isinstance<py::tuple>(o))
        return "sequence " + std::to_string(py::len(o));
    return py::hasattr(o, "weight") ? "module" : "other";
}

static int overloaded(int)
{
    return 1;
}
static int overloaded(const torch::Tensor &)
{
    return 2;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.doc() = "a module";
    m.def("forward", &forward, "doc", py::arg("x"), py::arg("w"), py::arg("eps") = 1e-5,
          py::arg("n") = 2);
    m.def("backward", backward);
    m.def("pack", &pack, "doc", py::call_guard<py::gil_scoped_release>());
    m.def("optional_bias", &optional_bias, py::arg("bias") = py::none(),
          py::arg("eps") = c10::nullopt, py::arg("n") = std::nullopt);
    m.def("lists", &lists);
    m.def("throws", &throws);
    m.def("from_object", &from_object);
    m.def("describe", &describe);
    m.def("lambda", [](bool flag, const std::string &mode, at::Scalar s, double d) {
        return std::string(flag ? "T " : "F ") + mode + " " + std::to_string(s.toInt()) + " " +
               std::to_string(d);
    });
    m.def("overloaded", py::overload_cast<int>(&overloaded));
    m.def("overloaded", static_cast<int (*)(const torch::Tensor &)>(&overloaded));
    m.def("small", [](int8_t a, uint8_t b, int64_t c) { return a + b + c; });
    m.def("rest", [](torch::Tensor x, py::args rest, py::kwargs) {
        return x.numel() + static_cast<int64_t>(rest.size());
    });
    m.def("dtype", [](at::ScalarType t) { return t == at::kHalf; });
    m.def("nothing", []() {});
    m.def("fails_late", [](torch::Tensor x) -> py::object { return py::cast(x).attr("grad"); });
}

/* ---- calling ---- */

struct result_t {
    rkb_call_status_t status;
    rkb_value_t value = rkb_value_t();
    std::string error;
    ~result_t()
    {
        rkb_rt_value_release(&value);
    }
};

static const rkb_entry_t *entry(const char *name)
{
    const rkb_module_t *m = rkb_candidate_module_v1();
    for (uint32_t i = 0; i < m->count; i++)
        if (strcmp(m->entries[i].name, name) == 0)
            return &m->entries[i];
    fail_msg("%s is not bound", name);
    return nullptr;
}

static void call(result_t *r, const char *name, std::vector<rkb_value_t> args)
{
    char error[512] = "";
    const rkb_entry_t *e = entry(name);
    r->status = e->call(e->self, args.data(), args.size(), &r->value, error, sizeof(error));
    r->error = error;
}

static rkb_value_t v(const torch::Tensor &t)
{
    rkb_value_t value = rkb_value_t();
    value.kind = RKB_VALUE_TENSOR;
    value.tensor = t.raw();
    return value;
}
static rkb_value_t v(int i)
{
    rkb_value_t value = rkb_value_t();
    value.kind = RKB_VALUE_INT;
    value.i = i;
    return value;
}
static rkb_value_t v(double d)
{
    rkb_value_t value = rkb_value_t();
    value.kind = RKB_VALUE_DOUBLE;
    value.d = d;
    return value;
}
static rkb_value_t v(bool b)
{
    rkb_value_t value = rkb_value_t();
    value.kind = RKB_VALUE_BOOL;
    value.i = b;
    return value;
}
static rkb_value_t v(const char *s)
{
    rkb_value_t value = rkb_value_t();
    value.kind = RKB_VALUE_STRING;
    value.s = const_cast<char *>(s);
    return value;
}
static rkb_value_t v(std::vector<rkb_value_t> &list)
{
    rkb_value_t value = rkb_value_t();
    value.kind = RKB_VALUE_LIST;
    value.count = list.size();
    value.list = list.data();
    return value;
}
static const rkb_value_t None = rkb_value_t();

static void expect_bad(const char *name, std::vector<rkb_value_t> args, const char *part)
{
    result_t r;
    call(&r, name, args);
    if (r.status != RKB_CALL_BAD_SIGNATURE || r.error.find(part) == std::string::npos)
        fail_msg("status %d, \"%s\" instead of \"%s\"", r.status, r.error.c_str(), part);
}

/* ---- tests ---- */

static void test_the_module_lists_its_functions(void **)
{
    const rkb_module_t *m = rkb_candidate_module_v1();
    assert_int_equal(m->abi, RKB_ABI_VERSION);
    assert_null(m->error);
    assert_string_equal(m->entries[0].name, "forward");
    assert_string_equal(entry("forward")->signature,
                        "(Tensor x, Tensor w, float eps = 1e-05, int n = 2) -> Tensor");
    assert_string_equal(entry("backward")->signature, "(Tensor, Tensor) -> list[Tensor]");
    assert_string_equal(entry("pack")->signature, "(Tensor) -> (Tensor, int, float)");
    assert_string_equal(entry("optional_bias")->signature,
                        "(Tensor or None bias = None, float or None eps = None, int or None n = "
                        "None) -> int");
    assert_string_equal(entry("overloaded")->signature, "(int) -> int or (Tensor) -> int");
    assert_string_equal(entry("nothing")->signature, "() -> None");
}

static void test_arguments_convert_and_results_come_back(void **)
{
    torch::Tensor x = iota({3}), w = iota({3});
    result_t r, defaults;
    call(&r, "forward", {v(x), v(w), v(3), v(4)}); /* an int for a float is fine */
    assert_int_equal(r.status, RKB_CALL_OK);
    assert_int_equal(r.value.kind, RKB_VALUE_TENSOR);
    assert_true(static_cast<float *>(r.value.tensor->data)[0] == 12.0f);
    call(&defaults, "forward", {v(x), v(w)});
    assert_int_equal(defaults.status, RKB_CALL_OK);
    assert_true(static_cast<float *>(defaults.value.tensor->data)[0] == 1e-5f * 2);
    assert_int_equal(x.raw()->refs, 1);
}

static void test_sequences_come_back_in_order(void **)
{
    torch::Tensor x = iota({3});
    result_t r, p, n;
    call(&r, "backward", {v(x), v(x)});
    assert_int_equal(r.value.kind, RKB_VALUE_LIST);
    assert_int_equal(r.value.count, 3);
    assert_ptr_equal(r.value.list[1].tensor, x.raw());
    assert_int_equal(r.value.list[2].kind, RKB_VALUE_NONE);
    call(&p, "pack", {v(x)});
    assert_int_equal(p.value.count, 3);
    assert_int_equal(p.value.list[1].i, 3);
    assert_true(p.value.list[2].d == 0.5);
    call(&n, "nothing", {});
    assert_int_equal(n.status, RKB_CALL_OK);
    assert_int_equal(n.value.kind, RKB_VALUE_NONE);
}

static void test_optionals_take_none(void **)
{
    torch::Tensor x = iota({3});
    result_t a, b, c;
    call(&a, "optional_bias", {None, None, None});
    assert_int_equal(a.value.i, 0);
    call(&b, "optional_bias", {v(x), v(1), v(2)});
    assert_int_equal(b.value.i, 7);
    call(&c, "optional_bias", {});
    assert_int_equal(c.value.i, 0);
    expect_bad("optional_bias", {v(1)}, "argument 1 (bias) takes Tensor or None, but int 1");
    expect_bad("optional_bias", {None, None, v(1.5)}, "argument 3 (n) takes int or None");
}

static void test_lists_and_tuples(void **)
{
    torch::Tensor x = iota({3});
    std::vector<rkb_value_t> ab = {v(1), v(2)}, c = {v(3.0), v(4)}, d = {v(10), v(20)}, e = {v(x)},
                             f = {v(false), v(true)}, mixed = {v(1), v(2.5)},
                             three = {v(1), v(2), v(3)};
    result_t r;
    call(&r, "lists", {v(ab), v(ab), v(c), v(d), v(e), v(f)});
    assert_int_equal(r.status, RKB_CALL_OK);
    assert_int_equal(r.value.i, 1 + 2 + 3 + 20 + 1 + 1);
    int64_t packed[] = {5, 6};
    rkb_value_t ints = rkb_value_t();
    ints.kind = RKB_VALUE_INT_LIST;
    ints.count = 2;
    ints.ints = packed;
    result_t s;
    call(&s, "lists", {ints, ints, v(c), ints, v(e), v(f)});
    assert_int_equal(s.value.i, 5 + 6 + 3 + 6 + 1 + 1);
    expect_bad("lists", {v(mixed), v(ab), v(c), v(d), v(e), v(f)}, "argument 1 takes list[int]");
    expect_bad("lists", {v(ab), v(ab), v(c), v(three), v(e), v(f)}, "argument 4 takes (int, int)");
    expect_bad("lists", {v(ab), v(ab), v(c), v(d), v(x), v(f)},
               "argument 5 takes list[Tensor], but Tensor of float32 [3] was passed");
}

static void test_signature_mistakes_are_named(void **)
{
    torch::Tensor x = iota({3}), w = iota({3});
    expect_bad("forward", {v(x), v(w), v(0.1), v(1.5)},
               "forward(Tensor x, Tensor w, float eps = 1e-05, int n = 2) -> Tensor: argument 4 "
               "(n) takes int, but float 1.5 was passed");
    expect_bad("forward", {v(x)},
               "takes 2 to 4 arguments, but 1 was passed; argument 2 (w) is missing");
    expect_bad("forward", {v(x), v(w), v(1), v(1), v(1)},
               "takes 2 to 4 arguments, but 5 were passed");
    expect_bad("forward", {v(x), None}, "argument 2 (w) takes Tensor, but None was passed");
    expect_bad("forward", {v(x), v(w), v("mean")}, "takes float, but str \"mean\" was passed");
    expect_bad("forward", {v(x), v(w), v(x)}, "takes float, but Tensor of float32 [3] was passed");
    expect_bad("pack", {}, "takes 1 argument, but 0 were passed; argument 1 is missing");
    expect_bad("forward", {v(2.0)}, "is missing");
    expect_bad("small", {v(200), v(1), v(1)}, "argument 1 takes int, but int 200");
    expect_bad("small", {v(1), v(-1), v(1)}, "argument 2 takes int, but int -1");
}

static void test_exceptions_carry_their_text(void **)
{
    static const struct {
        int which;
        const char *text;
    } cases[] = {{0, "a runtime error"}, {1, "which is 1 instead of 0"}, {2, "no std::exception"},
                 {3, "bad_alloc"},       {4, "unsupported type: Half"},  {5, "text"}};
    for (auto &c : cases) {
        result_t r;
        call(&r, "throws", {v(c.which)});
        assert_int_equal(r.status, RKB_CALL_EXCEPTION);
        if (r.error.find(c.text) == std::string::npos)
            fail_msg("\"%s\" instead of \"%s\"", r.error.c_str(), c.text);
    }
}

static void test_objects(void **)
{
    torch::Tensor x = iota({2});
    std::vector<rkb_value_t> list = {v(1), v(2.5)};
    expect_bad("from_object", {v(x), v(list)}, "takes 3 arguments");
    expect_bad("from_object", {v(x), v(list), v(1)}, "argument 3 takes dict, but int 1");
    expect_bad("from_object", {v(x), v(2), v(1)}, "argument 2 takes list, but int 2");
    const struct {
        rkb_value_t arg;
        const char *want;
    } cases[] = {{None, "none"},  {v("mean"), "str mean"}, {v(x), "tensor"},
                 {v(3), "int 3"}, {v(list), "sequence 2"}, {v(0.5), "other"}};
    for (auto &c : cases) {
        result_t r;
        call(&r, "describe", {c.arg});
        assert_int_equal(r.status, RKB_CALL_OK);
        assert_string_equal(r.value.s, c.want);
    }
    result_t r;
    call(&r, "fails_late", {v(x)});
    assert_int_equal(r.status, RKB_CALL_UNSUPPORTED);
    assert_non_null(strstr(r.error.c_str(), "attribute 'grad'"));
}

static void test_local_containers(void **)
{
    py::dict d;
    d["a"] = 3;
    d["b"] = iota({2});
    d["a"] = 4;
    assert_int_equal(d.size(), 2);
    assert_true(d.contains("b") && !d.contains("c"));
    assert_int_equal(d["a"].cast<int>(), 4);
    assert_int_equal(d["b"].cast<torch::Tensor>().numel(), 2);
    assert_throws(d["c"].cast<int>(), "key 'c' was not found");
    assert_throws(d["b"].cast<int>(), "cannot be cast to int");
    py::list l;
    l.append(1);
    l.append("two");
    l[0] = 5;
    int n = 0;
    for (auto item : l)
        n += item.is_none() ? 0 : 1;
    assert_int_equal(n, 2);
    assert_int_equal(l[0].cast<int64_t>(), 5);
    assert_true(py::str("x").cast<std::string>() == "x");
    assert_int_equal(py::make_tuple(1, 2.0, "c").size(), 3);
    assert_int_equal(py::cast<std::vector<int64_t>>(py::cast(std::vector<int64_t>{1, 2})).size(),
                     2);
}

static void test_scalars_strings_and_flags(void **)
{
    result_t r, s;
    call(&r, "lambda", {v(true), v("sum"), v(3), v(1)});
    assert_string_equal(r.value.s, "T sum 3 1.000000");
    call(&s, "lambda", {v(0), v(""), v(3.9), v(0.5)});
    assert_string_equal(s.value.s, "F  3 0.500000");
    expect_bad("lambda", {v(true), v(1), v(3), v(1)}, "argument 2 takes str, but int 1");
    expect_bad("lambda", {v("x"), v("sum"), v(3), v(1)}, "argument 1 takes bool, but str");
}

static void test_overloads_are_tried_in_order(void **)
{
    torch::Tensor x = iota({2});
    result_t a, b;
    call(&a, "overloaded", {v(1)});
    assert_int_equal(a.value.i, 1);
    call(&b, "overloaded", {v(x)});
    assert_int_equal(b.value.i, 2);
    expect_bad("overloaded", {v(1.5)}, "no overload fits; the last one: argument 1 takes Tensor");
}

static void test_args_take_the_rest(void **)
{
    torch::Tensor x = iota({2});
    result_t r, s;
    call(&r, "rest", {v(x), v(1), v(2), v(3)});
    assert_int_equal(r.value.i, 5);
    call(&s, "rest", {v(x)});
    assert_int_equal(s.value.i, 2);
    expect_bad("rest", {}, "at least 1 argument, but 0 were passed");
}

static void test_dtypes_are_arguments(void **)
{
    rkb_value_t type = v(RKB_F16);
    type.kind = RKB_VALUE_DTYPE;
    result_t r;
    call(&r, "dtype", {type});
    assert_int_equal(r.value.i, 1);
    expect_bad("dtype", {v(5)}, "takes dtype, but int 5");
}

TORCH_TEST_MAIN("torch_pybind", TORCH_TEST(test_the_module_lists_its_functions),
                TORCH_TEST(test_arguments_convert_and_results_come_back),
                TORCH_TEST(test_sequences_come_back_in_order), TORCH_TEST(test_optionals_take_none),
                TORCH_TEST(test_lists_and_tuples), TORCH_TEST(test_signature_mistakes_are_named),
                TORCH_TEST(test_exceptions_carry_their_text), TORCH_TEST(test_objects),
                TORCH_TEST(test_local_containers), TORCH_TEST(test_scalars_strings_and_flags),
                TORCH_TEST(test_overloads_are_tried_in_order), TORCH_TEST(test_args_take_the_rest),
                TORCH_TEST(test_dtypes_are_arguments))
