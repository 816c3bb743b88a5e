/* `rkb tasks show`: what the author of a candidate needs to know. */
#include "evaluator/task/cmd_internal.h"

#include "common/options.h"
#include "evaluator/reference/reference.h"
#include "evaluator/task/task_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *tasks, *config;
} show_options_t;

static const rkb_option_t show_table[] = {
    {"config", 'c', RKB_OPT_STRING, offsetof(show_options_t, config), "CONFIG",
     "give shapes and values for this config, B=64,I=128,O=10,init=kaiming", 0, 0},
    {"tasks", 0, RKB_OPT_STRING, offsetof(show_options_t, tasks), "DIR",
     "folder of tasks (default: the installed ones)", 0, 0},
    {NULL},
};

static const rkb_command_line_t show_line = {
    .program = "rkb tasks show",
    .synopsis = "[options] TASK",
    .summary = "Shows a task: the C++ signatures that a candidate binds, tensors, configs, "
               "tolerances and notes.",
    .epilog = "examples:\n"
              "  rkb tasks show layernorm\n"
              "  rkb tasks show layernorm --config B=3,C=5,D1=7,D2=11,init=random",
    .options = show_table,
};

/* ---- signatures ---------------------------------------------------------------------------------
 */

static const char *cpp_type(const rkb_argument_t *argument)
{
    if (argument->is_tensor)
        return "torch::Tensor";
    switch (argument->value.kind) {
    case RKB_VALUE_DOUBLE:
        return "double";
    case RKB_VALUE_BOOL:
        return "bool";
    case RKB_VALUE_INT_LIST:
        return "std::vector<int64_t>";
    case RKB_VALUE_STRING:
        return "std::string";
    case RKB_VALUE_NONE:
        return "c10::optional<torch::Tensor>";
    default:
        return "int64_t";
    }
}

static void print_signature(const rkb_instance_t *instance, rkb_direction_t direction)
{
    const rkb_task_t *task = rkb_instance_task(instance);
    const rkb_program_t *program = rkb_task_program(task);
    size_t returns =
        direction == RKB_FORWARD ? program->output_count : rkb_task_backward_return_count(task);
    double atol, rtol;
    printf("%s:\n  %s %s(", rkb_direction_name(direction),
           returns == 1 ? "torch::Tensor" : "std::vector<torch::Tensor>",
           rkb_direction_name(direction));
    for (size_t i = 0; i < rkb_instance_argument_count(instance, direction); i++) {
        const rkb_argument_t *argument = rkb_instance_argument(instance, direction, i);
        printf("%s%s %s", i ? ", " : "", cpp_type(argument), argument->name);
    }
    printf(");\n  returns");
    for (size_t i = 0; i < returns; i++)
        printf("%s %s", i ? "," : "",
               direction == RKB_FORWARD ? program->result_names[program->outputs[i]]
                                        : rkb_task_gradient_name(task, i));
    rkb_instance_tolerance(instance, direction, &atol, &rtol);
    printf("\n  right within %g + %g·|oracle|\n\n", atol, rtol);
}

/* ---- declarations -------------------------------------------------------------------------------
 */

static void print_value(const rkb_value_t *value)
{
    char number[40];
    switch (value->kind) {
    case RKB_VALUE_DOUBLE:
        fputs(rkb_print_double(value->d, number, sizeof number), stdout);
        break;
    case RKB_VALUE_BOOL:
        fputs(value->i ? "true" : "false", stdout);
        break;
    case RKB_VALUE_STRING:
        printf("\"%s\"", value->s);
        break;
    case RKB_VALUE_INT_LIST:
        for (size_t i = 0; i < value->count; i++)
            printf("%s%lld", i ? ", " : "[", (long long)value->ints[i]);
        fputs(value->count ? "]" : "[]", stdout);
        break;
    case RKB_VALUE_INT:
        printf("%lld", (long long)value->i);
        break;
    default:
        fputs("None", stdout);
        break;
    }
}

static void print_init(const rkb_init_t *init)
{
    switch (init->kind) {
    case RKB_INIT_NORMAL:
        printf("normal, mean %g, std %g", init->a, init->b);
        break;
    case RKB_INIT_UNIFORM:
        printf("uniform from %g to below %g", init->a, init->b);
        break;
    case RKB_INIT_CONSTANT:
        printf("constant %g", init->a);
        break;
    case RKB_INIT_RANDINT:
        printf("integers from %.0f to below %.0f", init->a, init->b);
        break;
    }
}

static void print_sizes(const int64_t *sizes, int ndim)
{
    putchar('[');
    for (int d = 0; d < ndim; d++)
        printf("%s%lld", d ? ", " : "", (long long)sizes[d]);
    putchar(']');
}

static void print_tensors(const rkb_instance_t *instance, bool numbers)
{
    const rkb_task_t *task = rkb_instance_task(instance);
    puts("tensors:");
    for (size_t i = 0; i < rkb_instance_tensor_count(instance); i++) {
        const rkb_tensor_spec_t *spec = rkb_instance_tensor(instance, i);
        const char *about = rkb_task_tensor_about(task, i);
        printf("  %-6s %s: %s ", rkb_role_name(spec->role), spec->name,
               rkb_dtype_text(spec->dtype));
        if (numbers) {
            print_sizes(spec->sizes, spec->ndim);
            fputs(", ", stdout);
            print_init(&spec->init);
        } else {
            putchar('[');
            for (int d = 0; d < spec->ndim; d++)
                printf("%s%s", d ? ", " : "", rkb_task_tensor_dim(task, i, d));
            putchar(']');
        }
        printf("%s%s\n", *about ? "; " : "", about);
    }
}

static void print_scalars(const rkb_instance_t *instance, bool numbers)
{
    const rkb_task_t *task = rkb_instance_task(instance);
    puts("symbols:");
    for (size_t i = 0; i < rkb_task_symbol_count(task); i++) {
        printf("  %s", rkb_task_symbol(task, i));
        if (numbers)
            printf(" = %lld", (long long)rkb_instance_symbols(instance)[i]);
        printf("  %s\n", rkb_task_symbol_about(task, i));
    }
    for (size_t i = 0; i < rkb_task_attribute_count(task); i++) {
        bool by_config = task->attributes[i].per_config;
        const rkb_expr_t *const *exprs = (const rkb_expr_t *const *)task->attributes[i].exprs;
        printf("%s  %s = ", i ? "" : "attributes:\n", rkb_task_attribute(task, i));
        if (numbers || (!by_config && !exprs))
            print_value(rkb_instance_attribute(instance, i));
        else if (by_config)
            fputs("set by the config", stdout);
        else
            for (size_t k = 0; k < task->attributes[i].count; k++)
                printf("%s%s", k ? ", " : "", rkb_expr_text(exprs[k]));
        printf("  %s\n", task->attributes[i].about);
    }
}

static void print_outputs(const rkb_instance_t *instance)
{
    const rkb_torch_api_t *torch;
    rkb_output_spec_t *specs;
    size_t count;
    rkb_error_t why = RKB_ERROR_INIT;
    if (rkb_torch_load(&torch, &why) != RKB_OK ||
        rkb_reference_forward_specs(torch, instance, &specs, &count, &why) != RKB_OK) {
        printf("outputs: unknown here (%s)\n", why.text);
        return;
    }
    puts("outputs:");
    for (size_t i = 0; i < count; i++) {
        printf("  %s: %s ", specs[i].name, rkb_dtype_text(specs[i].dtype));
        print_sizes(specs[i].sizes, specs[i].ndim);
        putchar('\n');
    }
    free(specs);
}

static bool sets_differ(const rkb_task_t *task, size_t set)
{
    size_t count = rkb_task_config_count(task, set, RKB_FORWARD);
    if (count != rkb_task_config_count(task, set, RKB_BACKWARD))
        return true;
    for (size_t i = 0; i < count; i++)
        if (strcmp(rkb_config_name(rkb_task_config(task, set, RKB_FORWARD, i)),
                   rkb_config_name(rkb_task_config(task, set, RKB_BACKWARD, i))) != 0)
            return true;
    return false;
}

static void print_configs(const rkb_task_t *task)
{
    puts("configs:");
    for (size_t s = 0; s < rkb_task_config_set_count(task); s++) {
        bool differ = sets_differ(task, s);
        for (int d = 0; d < RKB_DIRECTIONS; d++) {
            size_t count = rkb_task_config_count(task, s, d);
            if (count == 0 || (d == RKB_BACKWARD && !differ))
                continue;
            printf("  %s%s%s:\n", rkb_task_config_set_name(task, s), differ ? ", " : "",
                   differ ? rkb_direction_name(d) : "");
            for (size_t i = 0; i < count; i++)
                printf("    %s\n", rkb_config_name(rkb_task_config(task, s, d, i)));
        }
    }
}

static void print_task(const rkb_instance_t *instance, bool numbers)
{
    const rkb_task_t *task = rkb_instance_task(instance);
    printf("%s: %s\n", rkb_task_path(task), rkb_task_description(task));
    if (rkb_task_family(task))
        printf("model family: %s\n", rkb_task_family(task));
    if (numbers)
        printf("config: %s\n", rkb_instance_config_name(instance));
    putchar('\n');
    for (int d = 0; d < RKB_DIRECTIONS; d++)
        if (rkb_task_has_direction(task, d))
            print_signature(instance, d);
    print_tensors(instance, numbers);
    print_scalars(instance, numbers);
    if (numbers)
        print_outputs(instance);
    else
        print_configs(task);
    for (size_t i = 0; i < rkb_task_note_count(task); i++)
        printf("%s  %s\n", i ? "" : "notes:\n", rkb_task_note(task, i));
}

/* Any config of the task tells the kinds of its arguments. */
static const rkb_config_t *any_config(const rkb_task_t *task)
{
    int direction = rkb_task_has_direction(task, RKB_FORWARD) ? RKB_FORWARD : RKB_BACKWARD;
    return rkb_task_config(task, 0, direction, 0);
}

static rkb_status_t show(const rkb_task_t *task, const char *config_name, rkb_error_t *err)
{
    rkb_config_t *parsed = NULL;
    rkb_instance_t *instance;
    rkb_status_t status = RKB_OK;
    if (config_name)
        status = rkb_task_parse_config(task, config_name, &parsed, err);
    if (status != RKB_OK)
        return status;
    status = rkb_instance_create(task, parsed ? parsed : any_config(task), &instance, err);
    rkb_config_destroy(parsed);
    if (status != RKB_OK)
        return status;
    print_task(instance, config_name != NULL);
    rkb_instance_destroy(instance);
    return RKB_OK;
}

rkb_status_t rkb_tasks_show(int argc, char **argv, rkb_error_t *err)
{
    show_options_t options = {0};
    int positional;
    rkb_parse_next_t next;
    rkb_task_set_t *set;
    const rkb_task_t *task;
    rkb_status_t status =
        rkb_options_parse(&show_line, argc, argv, &options, &positional, &next, err);
    if (status != RKB_OK || next == RKB_PARSE_EXIT)
        return status;
    if (positional != 1)
        return rkb_error_set(err, RKB_ERR_USAGE, "expected one task; `rkb tasks list` names them");
    status = rkb_tasks_open(options.tasks, &set, err);
    if (status != RKB_OK)
        return status;
    status = rkb_task_set_find(set, argv[1], &task, err);
    if (status == RKB_OK)
        status = show(task, options.config, err);
    rkb_task_set_destroy(set);
    return status;
}
