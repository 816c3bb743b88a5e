/* Running programs: forms of arguments and results, precision of the oracle, and complaints. */
#include "common/file.h"
#include "evaluator/reference/reference.h"
#include "evaluator/reference/run_program.h"
#include "evaluator/task/task_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const rkb_torch_api_t *torch;

static int setup(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    (void)state;
    if (rkb_torch_load(&torch, &err) == RKB_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

/* A task with input x (4, 6) of a dtype, a symbol N = 2, and the program and outputs given. */
static rkb_task_t *make_task(const char *dtype, const char *program, const char *outputs,
                             bool backward)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task;
    char *text = rkb_strf(
        "{\"schema\": \"rkb-task/1\", \"name\": \"t\", \"suite\": \"unit\", \"symbols\": "
        "[{\"name\": "
        "\"N\"}], \"attributes\": [{\"name\": \"dims\", \"type\": \"int_list\", \"value\": "
        "[\"N-1\"]}],"
        "\"inputs\": [{\"name\": \"x\", \"shape\": [4, 6], \"dtype\": \"%s\", \"init\": "
        "{\"normal\": "
        "{\"mean\": 0, \"std\": 1}}}], \"program\": [%s], \"outputs\": [%s], \"forward\": "
        "{\"args\": "
        "[\"x\"], \"tolerance\": {\"atol\": 0, \"rtol\": 0}}, %s \"configs\": {\"smoke\": [{\"N\": "
        "2}]}}",
        dtype, program, outputs,
        backward ? "\"backward\": {\"args\": [\"x\"], \"returns\": [\"x\"], \"tolerance\": "
                   "{\"atol\": 0, \"rtol\": 0}},"
                 : "");
    if (rkb_task_parse("unit/task.json", text, strlen(text), &task, &err) != RKB_OK)
        fail_msg("%s", err.text);
    free(text);
    return task;
}

typedef struct {
    rkb_task_t *task;
    rkb_instance_t *instance;
    rkb_trial_data_t *trial;
    rkb_expected_set_t set;
} run_t;

static rkb_status_t open_run(run_t *run, rkb_task_t *task, rkb_direction_t direction,
                             unsigned flags, rkb_error_t *err)
{
    *run = (run_t){.task = task};
    assert_int_equal(
        rkb_instance_create(task, rkb_task_config(task, 0, RKB_FORWARD, 0), &run->instance, err),
        RKB_OK);
    rkb_status_t status = rkb_trial_create(torch, run->instance, direction, 5, 0, &run->trial, err);
    return status == RKB_OK ? rkb_reference_run(torch, run->trial, flags, &run->set, err) : status;
}

static void close_run(run_t *run)
{
    rkb_expected_release(&run->set);
    rkb_trial_destroy(run->trial);
    rkb_instance_destroy(run->instance);
    rkb_task_destroy(run->task);
}

/* Runs forward and must succeed. */
static run_t forward(const char *dtype, const char *program, const char *outputs)
{
    rkb_error_t err = RKB_ERROR_INIT;
    run_t run;
    if (open_run(&run, make_task(dtype, program, outputs, false), RKB_FORWARD, 0, &err) != RKB_OK)
        fail_msg("%s", err.text);
    return run;
}

static void test_references_attributes_and_expressions(void **state)
{
    (void)state;
    run_t run = forward("float32",
                        "{\"op\": \"aten::sum.dim_IntList\", \"args\": [\"$x\", \"$dims\"], "
                        "\"named\": {\"keepdim\": true}, \"result\": \"s\"},"
                        "{\"op\": \"aten::mul.Scalar\", \"args\": [\"$s\", \"=N*3\"], \"result\": "
                        "\"m\"}, {\"op\": \"aten::add.Scalar\", \"args\": [\"$m\", \"$N\"], "
                        "\"result\": \"y\"}",
                        "\"y\"");
    const float *x = run.trial->tensors[0];
    const rkb_expected_t *y = &run.set.outputs[0];
    assert_string_equal(y->spec.name, "y");
    assert_int_equal(y->spec.ndim, 2);
    assert_int_equal(y->spec.sizes[1], 1);
    for (int r = 0; r < 4; r++) {
        double sum = 0;
        for (int c = 0; c < 6; c++)
            sum += x[6 * r + c];
        assert_true(fabs(y->oracle[r] - (6 * sum + 2)) < 1e-12);
        assert_true(fabs(((float *)y->reference)[r] - (6 * sum + 2)) < 1e-5);
    }
    assert_true(run.set.oracle_float64);
    close_run(&run);
}

static void test_lists_of_tensors_are_taken_apart_and_made(void **state)
{
    (void)state;
    run_t run = forward("float32",
                        "{\"op\": \"aten::chunk\", \"args\": [\"$x\", 3, 1], \"result\": \"p\"},"
                        "{\"op\": \"aten::cat\", \"args\": [[\"$p[2]\", \"$x\"], 1], \"result\": "
                        "\"y\"}, {\"op\": \"aten::cat\", \"args\": [\"$p\", 0], \"result\": \"z\"}",
                        "\"z\", \"y\"");
    const float *x = run.trial->tensors[0], *y = run.set.outputs[1].reference;
    assert_int_equal(run.set.count, 2);
    assert_string_equal(run.set.outputs[0].spec.name, "z");
    assert_int_equal(run.set.outputs[0].spec.sizes[0], 12);
    assert_int_equal(run.set.outputs[1].spec.sizes[1], 8);
    assert_true(y[0] == x[4] && y[1] == x[5] && y[2] == x[0] && y[8] == x[10]);
    close_run(&run);
}

static void test_integer_outputs_have_no_oracle(void **state)
{
    (void)state;
    run_t run = forward("float32",
                        "{\"op\": \"aten::max.dim\", \"args\": [\"$x\", 1], \"results\": [\"top\", "
                        "\"at\"]}",
                        "\"at\", \"top\"");
    const int64_t *at = run.set.outputs[0].reference;
    const float *x = run.trial->tensors[0], *top = run.set.outputs[1].reference;
    assert_int_equal(run.set.outputs[0].spec.dtype, RKB_I64);
    assert_null(run.set.outputs[0].oracle);
    for (int r = 0; r < 4; r++)
        assert_true(x[6 * r + at[r]] == top[r]);
    close_run(&run);
}

static void test_the_oracle_of_a_half_task_is_float64(void **state)
{
    (void)state;
    /* A dtype named in the program is the task's precision, so the oracle widens it too. */
    run_t run = forward("bfloat16",
                        "{\"op\": \"aten::to.dtype\", \"args\": [\"$x\", {\"dtype\": "
                        "\"bfloat16\"}], \"result\": \"c\"}, {\"op\": \"aten::mul.Tensor\", "
                        "\"args\": [\"$c\", \"$c\"], \"result\": \"y\"}",
                        "\"y\"");
    const uint16_t *x = run.trial->tensors[0];
    const rkb_expected_t *y = &run.set.outputs[0];
    assert_int_equal(y->spec.dtype, RKB_BF16);
    assert_int_equal(y->spec.bytes, 48);
    bool rounded = false;
    for (int i = 0; i < 24; i++) {
        uint32_t bits = (uint32_t)x[i] << 16, back = (uint32_t)((uint16_t *)y->reference)[i] << 16;
        float value, reference;
        memcpy(&value, &bits, sizeof value);
        memcpy(&reference, &back, sizeof reference);
        assert_true(y->oracle[i] == (double)value * value);
        rounded = rounded || reference != y->oracle[i];
    }
    assert_true(rounded);
    close_run(&run);
}

static void test_oracle_only_leaves_the_reference_out(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    static const char square[] =
        "{\"op\": \"aten::mul.Tensor\", \"args\": [\"$x\", \"$x\"], \"result\": \"y\"}";
    run_t run;
    (void)state;
    for (int d = 0; d < RKB_DIRECTIONS; d++) {
        assert_int_equal(open_run(&run, make_task("float32", square, "\"y\"", true), d,
                                  RKB_REFERENCE_ORACLE_ONLY, &err),
                         RKB_OK);
        const rkb_expected_t *only = &run.set.outputs[0];
        assert_null(only->reference);
        assert_int_equal(only->spec.numel, 24);
        assert_true(only->spec.dtype == RKB_F32 || d == RKB_FORWARD);
        const float *x = run.trial->tensors[0];
        double g = d == RKB_BACKWARD ? ((float *)run.trial->grad_outputs[0])[3] : 0;
        double expected = d == RKB_FORWARD ? (double)x[3] * x[3] : 2 * g * x[3];
        assert_true(only->oracle[3] == expected);
        assert_string_equal(only->spec.name, d == RKB_FORWARD ? "y" : "grad_x");
        close_run(&run);
    }
}

static void test_forward_specs_are_found_without_data(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task = make_task("bfloat16",
                                 "{\"op\": \"aten::relu\", \"args\": [\"$x\"], \"result\": \"r\"}, "
                                 "{\"op\": \"aten::argmax\", \"args\": [\"$r\", 1], \"result\": "
                                 "\"i\"}, {\"op\": \"aten::sum\", \"args\": [\"$x\"], \"result\": "
                                 "\"s\"}",
                                 "\"i\", \"s\"", false);
    rkb_instance_t *instance;
    rkb_output_spec_t *specs;
    size_t count;
    (void)state;
    assert_int_equal(
        rkb_instance_create(task, rkb_task_config(task, 0, RKB_FORWARD, 0), &instance, &err),
        RKB_OK);
    assert_null(rkb_instance_forward_specs(instance));
    for (int round = 0; round < 2; round++) { /* the second answer is the kept one */
        assert_int_equal(rkb_reference_forward_specs(torch, instance, &specs, &count, &err),
                         RKB_OK);
        assert_int_equal(count, 2);
        assert_int_equal(specs[0].dtype, RKB_I64);
        assert_int_equal(specs[0].bytes, 32);
        assert_int_equal(specs[1].ndim, 0);
        assert_int_equal(specs[1].numel, 1);
        assert_int_equal(specs[1].dtype, RKB_BF16);
        free(specs);
        assert_non_null(rkb_instance_forward_specs(instance));
    }
    rkb_instance_destroy(instance);
    rkb_task_destroy(task);
}

static void test_complaints_name_the_call(void **state)
{
    static const struct {
        const char *program, *message;
    } rows[] = {
        {"{\"op\": \"aten::mm\", \"args\": [\"$x\", \"$x\"], \"result\": \"y\"}",
         "unit/t: program[0]: aten::mm: "},
        {"{\"op\": \"aten::relu\", \"args\": [\"$x\"], \"result\": \"a\"}, {\"op\": "
         "\"aten::rleu\", \"args\": [\"$a\"], \"result\": \"y\"}",
         "program[1]: aten::rleu: "},
        {"{\"op\": \"aten::sum\", \"args\": [\"$x\"], \"named\": {\"dmi\": 1}, \"result\": \"y\"}",
         "program[0]: aten::sum: has no argument \"dmi\"; it takes self, dtype"},
        {"{\"op\": \"aten::sum.dim_IntList\", \"args\": [\"$x\", [1]], \"named\": {\"dim\": [0]}, "
         "\"result\": \"y\"}",
         "argument \"dim\" is given by position too"},
        {"{\"op\": \"aten::max.dim\", \"args\": [\"$x\", 1], \"result\": \"y\"}",
         "aten::max.dim returns 2 values, the task names 1"},
        {"{\"op\": \"aten::relu\", \"args\": [\"$x\"], \"results\": [\"y\", \"z\"]}",
         "aten::relu returns 1 values, the task names 2"},
        {"{\"op\": \"aten::relu.out\", \"args\": [\"$x\"], \"named\": {\"out\": \"$x\"}, "
         "\"result\": \"y\"}",
         "writes to its arguments"},
        {"{\"op\": \"aten::chunk\", \"args\": [\"$x\", 2], \"result\": \"p\"}, {\"op\": "
         "\"aten::relu\", \"args\": [\"$p[2]\"], \"result\": \"y\"}",
         "program[1]: \"p\" has 2 elements, no [2]"},
        {"{\"op\": \"aten::relu\", \"args\": [\"$x\"], \"result\": \"p\"}, {\"op\": "
         "\"aten::relu\", \"args\": [\"$p[0]\"], \"result\": \"y\"}",
         "\"p\" is no list of tensors"},
        {"{\"op\": \"aten::size.int\", \"args\": [\"$x\", 0], \"result\": \"y\"}",
         "output \"y\" is no tensor"},
        {"{\"op\": \"aten::cat\", \"args\": [[\"$x\", 1]], \"result\": \"y\"}",
         "a list holds values of one kind"},
        {"{\"op\": \"aten::chunk\", \"args\": [\"$x\", \"=1//(N-2)\"], \"result\": \"y\"}",
         "division by zero"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_error_t err = RKB_ERROR_INIT;
        run_t run;
        rkb_status_t status = open_run(&run, make_task("float32", rows[i].program, "\"y\"", false),
                                       RKB_FORWARD, 0, &err);
        if (status != RKB_ERR_INVALID || !strstr(err.text, rows[i].message))
            fail_msg("row %zu: %s: %s", i, rkb_status_name(status), err.text);
        assert_int_equal(run.set.count, 0);
        close_run(&run);
    }
}

/* Operators as real models use them, in every form of argument. */
static void test_programs_of_many_kinds_run(void **state)
{
    static const struct {
        const char *program;
        int ndim;
        int64_t sizes[3];
    } rows[] = {
        {"{\"op\": \"aten::einsum\", \"args\": [\"ij,kj->ik\", [\"$x\", \"$x\"]], \"result\": "
         "\"y\"}",
         2,
         {4, 4}},
        {"{\"op\": \"aten::gelu\", \"args\": [\"$x\"], \"named\": {\"approximate\": \"tanh\"}, "
         "\"result\": \"y\"}",
         2,
         {4, 6}},
        {"{\"op\": \"aten::softmax.int\", \"args\": [\"$x\", -1], \"result\": \"y\"}", 2, {4, 6}},
        {"{\"op\": \"aten::clamp\", \"args\": [\"$x\"], \"named\": {\"max\": 0.5}, \"result\": "
         "\"y\"}",
         2,
         {4, 6}},
        {"{\"op\": \"aten::view\", \"args\": [\"$x\", [\"$N\", \"=N+1\", -1]], \"result\": \"y\"}",
         3,
         {2, 3, 4}},
        {"{\"op\": \"aten::slice.Tensor\", \"args\": [\"$x\", 1], \"named\": {\"start\": \"$N\", "
         "\"step\": 2}, \"result\": \"y\"}",
         2,
         {4, 2}},
        {"{\"op\": \"aten::batch_norm\", \"args\": [\"$x\", null, null, null, null, true, 0.1, "
         "1e-5, false], \"result\": \"y\"}",
         2,
         {4, 6}},
        {"{\"op\": \"aten::gt.Scalar\", \"args\": [\"$x\", 0], \"result\": \"m\"}, {\"op\": "
         "\"aten::masked_fill.Scalar\", \"args\": [\"$x\", \"$m\", 0], \"result\": \"y\"}",
         2,
         {4, 6}},
        {"{\"op\": \"aten::unsqueeze\", \"args\": [\"$x\", 0], \"result\": \"z\"}, {\"op\": "
         "\"aten::max_pool2d\", \"args\": [\"$z\", 2], \"named\": {\"stride\": [2, \"=N+1\"]}, "
         "\"result\": \"y\"}",
         3,
         {1, 2, 2}},
        {"{\"op\": \"aten::ones\", \"args\": [[\"=4*6\", 6]], \"named\": {\"dtype\": {\"dtype\": "
         "\"float32\"}}, \"result\": \"w\"}, {\"op\": \"aten::unsqueeze\", \"args\": [\"$x\", 0], "
         "\"result\": \"s\"}, {\"op\": \"aten::zeros\", \"args\": [[1, 1, 6]], \"named\": "
         "{\"dtype\": {\"dtype\": \"float32\"}}, \"result\": \"h\"}, {\"op\": "
         "\"aten::lstm.input\", "
         "\"args\": [\"$s\", [\"$h\", \"$h\"], [\"$w\", \"$w\"], false, 1, 0, false, false, true], "
         "\"results\": [\"y\", \"hn\", null]}",
         3,
         {1, 4, 6}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run_t run = forward("float32", rows[i].program, "\"y\"");
        const rkb_expected_t *y = &run.set.outputs[0];
        assert_int_equal(y->spec.ndim, rows[i].ndim);
        for (int d = 0; d < rows[i].ndim; d++)
            assert_int_equal(y->spec.sizes[d], rows[i].sizes[d]);
        assert_true(run.set.oracle_float64);
        for (int64_t k = 0; k < y->spec.numel; k++)
            assert_true(fabs(((float *)y->reference)[k] - y->oracle[k]) < 1e-5);
        close_run(&run);
    }
}

static void test_an_input_without_influence_has_gradient_zero(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    run_t run;
    (void)state;
    assert_int_equal(open_run(&run,
                              make_task("float32",
                                        "{\"op\": \"aten::zeros_like\", \"args\": [\"$x\"], "
                                        "\"result\": \"y\"}",
                                        "\"y\"", true),
                              RKB_BACKWARD, 0, &err),
                     RKB_OK);
    for (int i = 0; i < 24; i++)
        assert_true(((float *)run.set.outputs[0].reference)[i] == 0);
    close_run(&run);
}

static const char product_task[] =
    "{\"schema\": \"rkb-task/1\", \"name\": \"t\", \"suite\": \"unit\", \"symbols\": [], "
    "\"inputs\": "
    "[{\"name\": \"a\", \"shape\": [3], \"init\": {\"normal\": {\"mean\": 0, \"std\": 1}}}, "
    "{\"name\": "
    "\"k\", \"shape\": [], \"dtype\": \"int32\", \"init\": {\"constant\": {\"value\": 1}}}, "
    "{\"name\": "
    "\"b\", \"shape\": [3], \"init\": {\"normal\": {\"mean\": 0, \"std\": 1}}}], \"program\": "
    "[{\"op\": "
    "\"aten::mul.Tensor\", \"args\": [\"$a\", \"$b\"], \"result\": \"p\"}, {\"op\": "
    "\"aten::sum\", \"args\": [\"$a\"], \"result\": \"s\"}], \"outputs\": [\"p\", \"s\"], "
    "\"backward\": {\"args\": [\"grad_s\", \"a\", \"grad_p\"], \"returns\": [\"b\", \"a\"], "
    "\"tolerance\": {\"atol\": 0, \"rtol\": 0}}, \"configs\": {\"smoke\": [{}]}}";

/* Gradients come in the order that the task lists; each output has an upstream stream of its own.
 */
static void test_gradients_and_upstreams_keep_their_names(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task;
    rkb_instance_t *instance;
    rkb_trial_data_t *trial;
    rkb_expected_set_t set;
    (void)state;
    assert_int_equal(rkb_task_parse("t", product_task, strlen(product_task), &task, &err), RKB_OK);
    assert_false(rkb_task_has_direction(task, RKB_FORWARD));
    assert_int_equal(
        rkb_instance_create(task, rkb_task_config(task, 0, RKB_BACKWARD, 0), &instance, &err),
        RKB_OK);
    assert_int_equal(rkb_trial_create(torch, instance, RKB_BACKWARD, 9, 2, &trial, &err), RKB_OK);
    assert_int_equal(rkb_reference_run(torch, trial, 0, &set, &err), RKB_OK);
    const float *a = trial->tensors[0], *b = trial->tensors[2];
    const float *gp = trial->grad_outputs[0], *gs = trial->grad_outputs[1];
    assert_string_equal(set.outputs[0].spec.name, "grad_b");
    assert_string_equal(set.outputs[1].spec.name, "grad_a");
    for (int i = 0; i < 3; i++) {
        assert_true(set.outputs[0].oracle[i] == (double)gp[i] * a[i]);
        assert_true(fabs(set.outputs[1].oracle[i] - ((double)gp[i] * b[i] + gs[0])) < 1e-15);
    }
    assert_int_equal(rkb_instance_argument(instance, RKB_BACKWARD, 0)->tensor, 4);
    assert_int_equal(rkb_instance_argument(instance, RKB_BACKWARD, 2)->tensor, 3);

    float drawn[3];
    rkb_tensor_spec_t upstream = {.name = "grad_p",
                                  .dtype = RKB_F32,
                                  .numel = 3,
                                  .bytes = 12,
                                  .init = {RKB_INIT_NORMAL, 0, 1}};
    assert_int_equal(rkb_instance_generate(instance, &upstream, 9, 2, drawn, &err), RKB_OK);
    assert_memory_equal(drawn, gp, sizeof drawn);
    rkb_expected_release(&set);
    rkb_trial_destroy(trial);
    rkb_instance_destroy(instance);
    rkb_task_destroy(task);
}

static void test_inputs_are_not_changed(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    run_t run, other;
    static const char program[] =
        "{\"op\": \"aten::layer_norm\", \"args\": [\"$x\", [6]], \"result\": \"y\"}";
    (void)state;
    assert_int_equal(
        open_run(&run, make_task("float32", program, "\"y\"", true), RKB_BACKWARD, 0, &err),
        RKB_OK);
    assert_int_equal(
        open_run(&other, make_task("float32", program, "\"y\"", true), RKB_BACKWARD, 0, &err),
        RKB_OK);
    rkb_trial_data_t *fresh;
    assert_int_equal(rkb_trial_create(torch, run.instance, RKB_BACKWARD, 5, 0, &fresh, &err),
                     RKB_OK);
    assert_memory_equal(fresh->tensors[0], run.trial->tensors[0], 96);
    assert_memory_equal(fresh->grad_outputs[0], run.trial->grad_outputs[0], 96);
    assert_memory_equal(run.set.outputs[0].reference, other.set.outputs[0].reference, 96);
    assert_memory_equal(run.set.outputs[0].oracle, other.set.outputs[0].oracle, 192);
    rkb_trial_destroy(fresh);
    close_run(&run);
    close_run(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references_attributes_and_expressions),
        cmocka_unit_test(test_lists_of_tensors_are_taken_apart_and_made),
        cmocka_unit_test(test_integer_outputs_have_no_oracle),
        cmocka_unit_test(test_the_oracle_of_a_half_task_is_float64),
        cmocka_unit_test(test_oracle_only_leaves_the_reference_out),
        cmocka_unit_test(test_forward_specs_are_found_without_data),
        cmocka_unit_test(test_complaints_name_the_call),
        cmocka_unit_test(test_programs_of_many_kinds_run),
        cmocka_unit_test(test_an_input_without_influence_has_gradient_zero),
        cmocka_unit_test(test_gradients_and_upstreams_keep_their_names),
        cmocka_unit_test(test_inputs_are_not_changed),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
