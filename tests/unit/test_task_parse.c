/* Broken task files are refused with file, path and reason; sound ones are read as written. */
#include "common/file.h"
#include "evaluator/task/task_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A small task with one of everything. */
static const char sample[] =
    "{\n"
    "  \"schema\": \"rkb-task/1\", \"name\": \"sample\", \"suite\": \"unit\",\n"
    "  \"notes\": [\"first\", \"second\"],\n"
    "  \"symbols\": [{\"name\": \"B\"}, {\"name\": \"I\", \"about\": \"features\"}],\n"
    "  \"init_methods\": [\"small\", \"large\"],\n"
    "  \"attributes\": [{\"name\": \"eps\", \"type\": \"float\"},\n"
    "    {\"name\": \"flag\", \"type\": \"bool\"},\n"
    "    {\"name\": \"dims\", \"type\": \"int_list\", \"value\": [\"I\", 2]},\n"
    "    {\"name\": \"pad\", \"type\": \"int\", \"value\": \"I//2\"},\n"
    "    {\"name\": \"none\", \"type\": \"none\"},\n"
    "    {\"name\": \"mode\", \"type\": \"string\", \"value\": \"sum\"}],\n"
    "  \"inputs\": [{\"name\": \"x\", \"shape\": [\"B\", \"2*I\"],\n"
    "    \"init\": {\"normal\": {\"mean\": 0, \"std\": 1}}}],\n"
    "  \"params\": [{\"name\": \"w\", \"shape\": [\"I\"], \"inits\": {\n"
    "    \"small\": {\"kaiming_uniform\": {\"fan_in\": \"I\"}},\n"
    "    \"large\": {\"uniform\": {\"low\": -2, \"high\": 2}}}}],\n"
    "  \"buffers\": [{\"name\": \"k\", \"shape\": [], \"dtype\": \"int64\",\n"
    "    \"init\": {\"randint\": {\"low\": 0, \"high\": \"B\"}}}],\n"
    "  \"program\": [{\"op\": \"aten::chunk\", \"args\": [\"$x\", 2, \"=B-B+1\"],"
    " \"result\": \"parts\"},\n"
    "    {\"op\": \"aten::max.dim\", \"args\": [\"$parts[1]\", 1], \"named\": {\"keepdim\": "
    "true},\n"
    "     \"results\": [\"top\", null]}],\n"
    "  \"outputs\": [\"top\"],\n"
    "  \"forward\": {\"args\": [\"x\", \"w\", \"k\", \"eps\", \"flag\", \"dims\", \"pad\", "
    "\"none\","
    " \"mode\", \"B\"],\n"
    "    \"tolerance\": {\"atol\": 1e-4, \"rtol\": 1e-3}},\n"
    "  \"backward\": {\"args\": [\"x\", \"grad_output\"], \"returns\": [\"w\", \"x\"],\n"
    "    \"tolerance\": {\"atol\": 1e-2, \"rtol\": 0}},\n"
    "  \"configs\": {\n"
    "    \"single\": [{\"B\": 2, \"I\": 3, \"eps\": 0.1, \"flag\": true, \"init\": \"small\"}],\n"
    "    \"multi\": {\"product\": [[{\"B\": 1}, {\"B\": 2}],\n"
    "      [{\"I\": 5, \"eps\": 1e-5, \"flag\": false}], [{\"init\": \"small\"}, {\"init\": "
    "\"large\"}]]}\n"
    "  }\n"
    "}\n";

/* The sample with the first occurrence of one text replaced by another. */
static char *edit(const char *old, const char *new)
{
    const char *at = strstr(sample, old);
    if (!at)
        fail_msg("the sample has no \"%s\"", old);
    return rkb_strf("%.*s%s%s", (int)(at - sample), sample, new, at + strlen(old));
}

static rkb_status_t parse(const char *text, rkb_task_t **task, rkb_error_t *err)
{
    return rkb_task_parse("unit/sample/task.json", text, strlen(text), task, err);
}

static void test_a_task_is_read_as_written(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task;
    (void)state;
    if (parse(sample, &task, &err) != RKB_OK)
        fail_msg("%s", err.text);
    assert_string_equal(rkb_task_path(task), "unit/sample");
    assert_string_equal(rkb_task_folder(task), "unit/sample");
    assert_string_equal(rkb_task_note(task, 1), "second");
    assert_string_equal(rkb_task_symbol_about(task, 1), "features");
    assert_true(rkb_task_has_direction(task, RKB_BACKWARD));
    assert_int_equal(rkb_task_backward_return_count(task), 2);
    assert_string_equal(rkb_task_gradient_name(task, 0), "grad_w");

    const rkb_program_t *program = rkb_task_program(task);
    assert_int_equal(program->call_count, 2);
    assert_int_equal(program->result_count, 3);
    assert_null(program->result_names[2]);
    const rkb_program_call_t *call = &program->calls[1];
    assert_int_equal(call->operands[0].kind, RKB_OPERAND_REF);
    assert_int_equal(call->operands[0].ref.kind, RKB_REF_RESULT);
    assert_int_equal(call->operands[0].ref.element, 1);
    assert_string_equal(call->operands[2].name, "keepdim");
    assert_int_equal(call->positional_count, 2);
    rkb_task_destroy(task);
}

static void test_an_instance_has_all_numbers(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task;
    rkb_instance_t *instance;
    (void)state;
    assert_int_equal(parse(sample, &task, &err), RKB_OK);
    assert_int_equal(
        rkb_instance_create(task, rkb_task_config(task, 0, RKB_FORWARD, 0), &instance, &err),
        RKB_OK);
    const rkb_tensor_spec_t *x = rkb_instance_tensor(instance, 0);
    assert_int_equal(x->ndim, 2);
    assert_int_equal(x->sizes[1], 6);
    assert_int_equal(x->numel, 12);
    assert_int_equal(x->bytes, 48);
    const rkb_tensor_spec_t *w = rkb_instance_tensor(instance, 1);
    assert_int_equal(w->role, RKB_ROLE_PARAM);
    assert_int_equal(w->init.kind, RKB_INIT_UNIFORM);
    assert_true(w->init.a == -w->init.b && w->init.b > 0.577 && w->init.b < 0.578);
    const rkb_tensor_spec_t *k = rkb_instance_tensor(instance, 2);
    assert_int_equal(k->numel, 1);
    assert_int_equal(k->bytes, 8);

    assert_int_equal(rkb_instance_argument_count(instance, RKB_FORWARD), 10);
    const rkb_argument_t *dims = rkb_instance_argument(instance, RKB_FORWARD, 5);
    assert_int_equal(dims->value.kind, RKB_VALUE_INT_LIST);
    assert_int_equal(dims->value.count, 2);
    assert_int_equal(dims->value.ints[0], 3);
    assert_int_equal(rkb_instance_argument(instance, RKB_FORWARD, 4)->value.kind, RKB_VALUE_BOOL);
    assert_int_equal(rkb_instance_argument(instance, RKB_FORWARD, 6)->value.i, 1);
    assert_int_equal(rkb_instance_argument(instance, RKB_FORWARD, 7)->value.kind, RKB_VALUE_NONE);
    assert_string_equal(rkb_instance_argument(instance, RKB_FORWARD, 8)->value.s, "sum");
    assert_int_equal(rkb_instance_argument(instance, RKB_FORWARD, 9)->value.i, 2);
    const rkb_argument_t *upstream = rkb_instance_argument(instance, RKB_BACKWARD, 1);
    assert_true(upstream->is_tensor);
    assert_int_equal(upstream->tensor, rkb_instance_tensor_count(instance));
    rkb_instance_destroy(instance);
    rkb_task_destroy(task);
}

static void test_initialisers_have_their_numbers(void **state)
{
    static const struct {
        const char *init;
        rkb_init_kind_t kind;
        double a, b; /* with I = 3, B = 2 */
    } rows[] = {
        {"{\"normal\": {\"mean\": 1, \"std\": 0.5}}", RKB_INIT_NORMAL, 1, 0.5},
        {"{\"uniform\": {\"low\": -3, \"high\": 4}}", RKB_INIT_UNIFORM, -3, 4},
        {"{\"constant\": {\"value\": 0.25}}", RKB_INIT_CONSTANT, 0.25, 0},
        {"{\"randint\": {\"low\": \"-B\", \"high\": \"I+1\"}}", RKB_INIT_RANDINT, -2, 4},
        {"{\"kaiming_uniform\": {\"fan_in\": \"3*I\"}}", RKB_INIT_UNIFORM, -1 / 3.0, 1 / 3.0},
        {"{\"kaiming_normal\": {\"fan_in\": 8}}", RKB_INIT_NORMAL, 0, 0.5},
        {"{\"xavier_uniform\": {\"fan_in\": 21, \"fan_out\": \"I\"}}", RKB_INIT_UNIFORM, -0.5, 0.5},
        {"{\"xavier_normal\": {\"fan_in\": 5, \"fan_out\": \"I\"}}", RKB_INIT_NORMAL, 0, 0.5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_error_t err = RKB_ERROR_INIT;
        rkb_task_t *task;
        rkb_instance_t *instance;
        char *text = edit("{\"normal\": {\"mean\": 0, \"std\": 1}}", rows[i].init);
        if (parse(text, &task, &err) != RKB_OK)
            fail_msg("%s: %s", rows[i].init, err.text);
        assert_int_equal(
            rkb_instance_create(task, rkb_task_config(task, 0, RKB_FORWARD, 0), &instance, &err),
            RKB_OK);
        const rkb_init_t *init = &rkb_instance_tensor(instance, 0)->init;
        if (init->kind != rows[i].kind || init->a != rows[i].a || init->b != rows[i].b)
            fail_msg("%s: %g, %g", rows[i].init, init->a, init->b);
        rkb_instance_destroy(instance);
        rkb_task_destroy(task);
        free(text);
    }
}

static void test_broken_files_are_refused_with_their_place(void **state)
{
    static const struct {
        const char *old, *new, *message;
    } rows[] = {
        /* form */
        {"\"schema\": \"rkb-task/1\"", "\"schema\": \"rkb-task/2\"", "schema: \"rkb-task/2\""},
        {"\"schema\": \"rkb-task/1\", ", "", "schema"},
        {"\"name\": \"sample\"", "\"name\": \"a/b\"", "name: \"a/b\""},
        {"\"name\": \"sample\"", "\"name\": 7", "name"},
        {"\"suite\": \"unit\"", "\"suite\": \"../x\"", "suite: "},
        {"\"notes\"", "\"note\"", "note"},
        {"\"first\"", "1", "notes[0]"},
        {"\"buffers\"", "\"bufers\"", "bufers"},
        {"\"configs\": {", "\"configs\": ", "line"},
        /* declarations */
        {"{\"name\": \"B\"}", "{\"name\": \"2B\"}", "symbols[0].name: \"2B\""},
        {"{\"name\": \"B\"}", "{\"name\": \"init\"}", "symbols[0].name"},
        {"{\"name\": \"I\", \"about\"", "{\"name\": \"B\", \"about\"",
         "symbols[1].name: \"B\" is declared twice"},
        {"\"about\": \"features\"", "\"abuot\": \"features\"", "abuot"},
        {"\"name\": \"w\"", "\"name\": \"grad_x\"", "params[0].name"},
        {"\"name\": \"w\"", "\"name\": \"x\"", "params[0].name: \"x\" is declared twice"},
        {"[\"small\", \"large\"]", "[\"small\", \"small\"]", "init_methods[1]"},
        {"[\"small\", \"large\"]", "[]", "init_methods"},
        {"\"type\": \"bool\"", "\"type\": \"boolean\"", "attributes[1].type"},
        {"\"type\": \"float\"", "\"type\": \"int\"", "attributes[0]: missing \"value\""},
        {"\"type\": \"none\"", "\"type\": \"none\", \"value\": 1", "attributes[4].value"},
        {"[\"I\", 2]", "[\"I\", \"J\"]", "attributes[2].value[1]: undeclared symbol \"J\""},
        {"\"value\": \"I//2\"", "\"value\": \"I/2\"", "attributes[3].value: '/' at column 2"},
        /* tensors */
        {"\"2*I\"", "\"2*\"", "inputs[0].shape[1]: expression \"2*\" ends too early, at column 3"},
        {"\"2*I\"", "\"2*K\"", "undeclared symbol \"K\" at column 3"},
        {"\"2*I\"", "2.5", "inputs[0].shape[1]"},
        {"\"2*I\"", "\"I-3\"", "configs.single[0]"},
        {"\"2*I\"", "\"I-3\"", "shape[1] of \"x\", \"I-3\", is 0; sizes must be at least 1"},
        {"\"2*I\"", "\"4611686018427387904*I\"", "shape[1] of \"x\": 64-bit overflow"},
        {"\"2*I\"", "4611686018427387904, 2", "beyond 2^53"},
        {"\"2*I\"", "\"4611686018427387904\"", "the size of \"x\" overflows"},
        {"\"dtype\": \"int64\"", "\"dtype\": \"int46\"",
         "buffers[0].dtype: unknown dtype \"int46\"; did you mean"},
        {"{\"mean\": 0, \"std\": 1}", "{\"mean\": 0}", "inputs[0].init.normal"},
        {"{\"mean\": 0, \"std\": 1}", "{\"mean\": 0, \"std\": 0}", "std must be above 0"},
        {"{\"low\": -2, \"high\": 2}", "{\"low\": 2, \"high\": 2}", "low must be below high"},
        {"\"normal\"", "\"norma\"", "inputs[0].init: unknown initialiser \"norma\"; did you mean "},
        {"\"init\": {\"normal\"", "\"inits\": {\"normal\"",
         "inputs[0].inits: undeclared init method"},
        {"\"large\": {\"uniform\"", "\"huge\": {\"uniform\"", "params[0].inits"},
        {",\n    \"large\": {\"uniform\": {\"low\": -2, \"high\": 2}}", "", "params[0].inits"},
        {"\"shape\": [\"I\"], \"inits\"", "\"shape\": [\"I\"], \"init\": {}, \"inits\"",
         "params[0]: expected either \"init\""},
        {"\"fan_in\": \"I\"", "\"fan_in\": \"I-3\"", "initialiser of \"w\": fan \"I-3\" is 0"},
        {"\"low\": 0, \"high\": \"B\"", "\"low\": \"B\", \"high\": \"B\"", "is empty"},
        {"\"dtype\": \"int64\",\n    \"init\": {\"randint\": {\"low\": 0, \"high\": \"B\"}}",
         "\"dtype\": \"int8\", \"init\": {\"randint\": {\"low\": 0, \"high\": 200}}",
         "does not fit int8"},
        {"\"dtype\": \"int64\",\n    \"init\": {\"randint\": {\"low\": 0, \"high\": \"B\"}}",
         "\"dtype\": \"int64\", \"init\": {\"normal\": {\"mean\": 0, \"std\": 1}}",
         "draws real numbers"},
        /* program */
        {"\"aten::chunk\"", "\"chunk\"", "program[0].op: \"chunk\" is no operator name"},
        {"\"aten::chunk\"", "\"aten::relu_\"", "works in place"},
        {"\"$x\", 2", "\"$z\", 2", "program[0].args[0]: \"$z\" is not defined"},
        {"\"$x\", 2", "\"$top\", 2", "program[0].args[0]: \"$top\" is not defined"},
        {"\"$parts[1]\"", "\"$part[1]\"", "did you mean \"parts\"?"},
        {"\"$parts[1]\"", "\"$parts[x]\"", "program[1].args[0]"},
        {"\"$parts[1]\"", "\"$x[1]\"", "has no elements"},
        {"\"=B-B+1\"", "\"=B-\"", "program[0].args[2]: expression"},
        {"\"=B-B+1\"", "[[1]]", "program[0].args[2][0]: a list holds no lists"},
        {"\"=B-B+1\"", "{\"dtpye\": \"int8\"}", "dtpye"},
        {"\"result\": \"parts\"", "\"result\": \"x\"",
         "program[0].result: \"x\" is already defined"},
        {"\"result\": \"parts\"", "\"results\": []", "program[0].results"},
        {", \"result\": \"parts\"", "", "program[0]: expected"},
        {"[\"top\", null]", "[\"parts\", null]", "program[1].results[0]"},
        {"\"outputs\": [\"top\"]", "\"outputs\": [\"tpo\"]", "outputs[0]: no call"},
        {"\"outputs\": [\"top\"]", "\"outputs\": []", "outputs: a task needs an output"},
        /* entries */
        {"\"args\": [\"x\", \"w\"", "\"args\": [\"x\", \"weigth\"", "forward.args[1]: \"weigth\""},
        {"\"args\": [\"x\", \"w\"", "\"args\": [\"grad_output\", \"w\"", "forward.args[0]"},
        {"\"returns\": [\"w\", \"x\"]", "\"returns\": [\"k\", \"x\"]",
         "backward.returns[0]: \"k\" is int64: it has no gradient"},
        {"\"returns\": [\"w\", \"x\"]", "\"returns\": [\"w\", \"w\"]", "backward.returns[1]"},
        {"\"returns\": [\"w\", \"x\"]", "\"returns\": [\"eps\"]", "backward.returns[0]"},
        {"\"grad_output\"", "\"grad_x\"", "backward.args[1]: \"grad_x\""},
        {"\"atol\": 1e-4", "\"atol\": -1", "forward.tolerance: a tolerance is negative"},
        {"\"atol\": 1e-4, ", "", "forward.tolerance"},
        {"\"atol\": 1e-4", "\"atlo\": 1e-4", "atlo"},
        /* configs */
        {"{\"B\": 2, \"I\": 3, \"eps\"", "{\"B\": 2, \"eps\"",
         "configs.single[0]: symbol \"I\" has no value"},
        {"{\"B\": 2, \"I\": 3, \"eps\"", "{\"B\": 2, \"J\": 3, \"eps\"",
         "configs.single[0]: a config of this task assigns no \"J\""},
        {"{\"B\": 2, \"I\": 3, \"eps\"", "{\"B\": \"two\", \"I\": 3, \"eps\"",
         "configs.single[0].B"},
        {"{\"B\": 2, \"I\": 3, \"eps\"", "{\"B\": 2.5, \"I\": 3, \"eps\"", "configs.single[0].B"},
        {"{\"B\": 2, \"I\": 3, \"eps\"", "{\"B\": 0, \"I\": 3, \"eps\"", "is 0; sizes"},
        {"\"eps\": 0.1, ", "", "configs.single[0]: attribute \"eps\" has no value"},
        {"\"flag\": true", "\"flag\": 1", "configs.single[0].flag"},
        {", \"init\": \"small\"}]", "}]", "configs.single[0]: no \"init\" method"},
        {"\"init\": \"small\"}]", "\"init\": \"smal\"}]",
         "configs.single[0].init: undeclared init method \"smal\"; did you mean \"small\"?"},
        {"{\"B\": 1}, {\"B\": 2}", "{\"B\": 1}, {\"B\": 1}", "is listed twice"},
        {"{\"B\": 1}, {\"B\": 2}", "{\"B\": 1}, {\"B\": 0}",
         "configs.multi.product: config \"B=0,"},
        {"{\"I\": 5, ", "{\"I\": 5, \"B\": 3, ",
         "configs.multi.product[1][0].B: another factor of the product gives it too"},
        {"[{\"B\": 1}, {\"B\": 2}]", "[]", "configs.multi.product[0]: the factor is empty"},
        {"{\"product\":", "{\"produkt\":", "produkt"},
        {"\"multi\": {", "\"mul ti\": {", "configs: \"mul ti\" is no name"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_error_t err = RKB_ERROR_INIT;
        rkb_task_t *task = NULL;
        char *text = edit(rows[i].old, rows[i].new);
        rkb_status_t status = parse(text, &task, &err);
        if (status != RKB_ERR_INVALID)
            fail_msg("row %zu (%s) was not refused: %s", i, rows[i].new, err.text);
        assert_null(task);
        if (!strstr(err.text, rows[i].message) ||
            strncmp(err.text, "unit/sample/task.json: ", 23) != 0)
            fail_msg("row %zu (%s): %s", i, rows[i].new, err.text);
        free(text);
    }
}

static void test_config_names_come_back(void **state)
{
    static const char *const multi[] = {
        "B=1,I=5,eps=1e-05,flag=false,init=small", "B=1,I=5,eps=1e-05,flag=false,init=large",
        "B=2,I=5,eps=1e-05,flag=false,init=small", "B=2,I=5,eps=1e-05,flag=false,init=large"};
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task;
    (void)state;
    assert_int_equal(parse(sample, &task, &err), RKB_OK);
    int set = rkb_task_find_config_set(task, "multi");
    assert_int_equal(set, 1);
    assert_int_equal(rkb_task_find_config_set(task, "none"), -1);
    assert_int_equal(rkb_task_config_count(task, 1, RKB_FORWARD), 4);
    for (size_t i = 0; i < 4; i++) {
        rkb_config_t *config;
        const char *name = rkb_config_name(rkb_task_config(task, 1, RKB_FORWARD, i));
        assert_string_equal(name, multi[i]);
        assert_int_equal(rkb_task_parse_config(task, name, &config, &err), RKB_OK);
        assert_string_equal(rkb_config_name(config), name);
        rkb_config_destroy(config);
    }
    rkb_config_t *other;
    assert_int_equal(rkb_task_parse_config(task,
                                           "init=large,flag=true,eps=0.30000000000000004,I=9,B=8",
                                           &other, &err),
                     RKB_OK);
    assert_string_equal(rkb_config_name(other),
                        "B=8,I=9,eps=0.30000000000000004,flag=true,init=large");
    rkb_config_destroy(other);
    rkb_task_destroy(task);
}

static void test_broken_config_names_are_refused(void **state)
{
    static const struct {
        const char *name, *message;
    } rows[] = {
        {"", "symbol \"B\" has no value"},
        {"B=2", "symbol \"I\" has no value"},
        {"B=2,B=3,I=1,eps=1,flag=true,init=small", "\"B\" is given twice"},
        {"B=2x,I=1,eps=1,flag=true,init=small", "B is \"2x\", expected an integer"},
        {"B=,I=1,eps=1,flag=true,init=small", "expected an integer"},
        {"B=99999999999999999999,I=1,eps=1,flag=true,init=small", "expected an integer"},
        {"B=2,I=1,eps=nan,flag=true,init=small", "expected a number"},
        {"B=2,I=1,eps=1,flag=yes,init=small", "expected true or false"},
        {"B=2,I=1,eps=1,flag=true,init=tiny", "undeclared init method"},
        {"B=2,I=1,eps=1,flag=true", "no \"init\" method"},
        {"B=2,C=1", "assigns no \"C\""},
        {"B=2,,I=1", "is no assignment"},
        {"B", "is no assignment"},
        {"B=-2,I=1,eps=1,flag=true,init=small", "sizes must be at least 1"},
        {"B=4611686018427387904,I=4,eps=1,flag=true,init=small", "overflows"},
    };
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task;
    (void)state;
    assert_int_equal(parse(sample, &task, &err), RKB_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rkb_config_t *config = NULL;
        err = (rkb_error_t)RKB_ERROR_INIT;
        if (rkb_task_parse_config(task, rows[i].name, &config, &err) != RKB_ERR_INVALID ||
            !strstr(err.text, rows[i].message) || !strstr(err.text, "unit/sample"))
            fail_msg("\"%s\": %s", rows[i].name, err.text);
        assert_null(config);
    }
    rkb_task_destroy(task);
}

static void test_sets_may_differ_by_direction(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task;
    char *text = edit("\"single\": [{\"B\": 2, \"I\": 3, \"eps\": 0.1, \"flag\": true, \"init\": "
                      "\"small\"}]",
                      "\"single\": {\"forward\": [{\"B\": 2, \"I\": 3, \"eps\": 0.1, \"flag\": "
                      "true, \"init\": \"small\"}], \"backward\": {\"product\": [[{\"B\": 7}, "
                      "{\"B\": 8}], [{\"I\": 3, \"eps\": 0.1, \"flag\": true, \"init\": "
                      "\"small\"}]]}}");
    (void)state;
    if (parse(text, &task, &err) != RKB_OK)
        fail_msg("%s", err.text);
    free(text);
    assert_int_equal(rkb_task_config_count(task, 0, RKB_FORWARD), 1);
    assert_int_equal(rkb_task_config_count(task, 0, RKB_BACKWARD), 2);
    assert_string_equal(rkb_config_name(rkb_task_config(task, 0, RKB_BACKWARD, 1)),
                        "B=8,I=3,eps=0.1,flag=true,init=small");
    rkb_task_destroy(task);
}

static void test_a_product_cannot_explode(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task = NULL;
    char *factor = rkb_xstrdup("[{\"B\": 1}");
    (void)state;
    for (int i = 2; i <= 5000; i++) {
        char *longer = rkb_strf("%s, {\"B\": %d}", factor, i);
        free(factor);
        factor = longer;
    }
    char *text = edit("[{\"B\": 1}, {\"B\": 2}", factor);
    assert_int_equal(parse(text, &task, &err), RKB_ERR_INVALID);
    assert_non_null(strstr(err.text, "more than 4096 configs"));
    free(text);
    free(factor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_task_is_read_as_written),
        cmocka_unit_test(test_an_instance_has_all_numbers),
        cmocka_unit_test(test_initialisers_have_their_numbers),
        cmocka_unit_test(test_broken_files_are_refused_with_their_place),
        cmocka_unit_test(test_config_names_come_back),
        cmocka_unit_test(test_broken_config_names_are_refused),
        cmocka_unit_test(test_sets_may_differ_by_direction),
        cmocka_unit_test(test_a_product_cannot_explode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
