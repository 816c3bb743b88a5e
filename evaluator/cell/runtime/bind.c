/* Bound functions: entries of a module, the choice among overloads, and what a bad call is told. */
#include "evaluator/cell/runtime/runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE_SIZE = 2048, WHY_SIZE = 512, MAX_PARAMS = 256 };

/** All functions of one name; `self` of an entry. */
typedef struct {
    char *name;
    char *signature;
    rkb_function_t *first;
} binding_t;

static void add_text(char *text, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void add_text(char *text, size_t size, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + used, size - used, fmt, ap);
    va_end(ap);
}

/** The value as it stands in a source: a description without its type. */
static void add_default(char *text, size_t size, const rkb_value_t *value)
{
    char described[160];
    rkb_rt_value_describe(value, described, sizeof(described));
    const char *bare = described;
    if (value->kind == RKB_VALUE_INT || value->kind == RKB_VALUE_DOUBLE ||
        value->kind == RKB_VALUE_BOOL || value->kind == RKB_VALUE_STRING)
        bare = strchr(described, ' ') + 1;
    add_text(text, size, " = %s", bare);
}

/** "(Tensor x, Tensor weight, float eps = 1e-05) -> Tensor" */
static void add_signature(char *text, size_t size, const rkb_function_t *function)
{
    add_text(text, size, "(");
    for (uint32_t i = 0; i < function->nparams; i++) {
        const rkb_param_t *param = &function->params[i];
        add_text(text, size, "%s%s%s%s", i > 0 ? ", " : "", param->type,
                 param->name != NULL ? " " : "", param->name != NULL ? param->name : "");
        if (param->fallback != NULL)
            add_default(text, size, param->fallback);
    }
    add_text(text, size, ") -> %s", function->result);
}

/** "4 arguments", "3 to 4 arguments", "at least 1 argument" */
static void add_count(char *text, size_t size, const rkb_function_t *function)
{
    uint32_t most = function->nfixed, least = most;
    while (least > 0 && function->params[least - 1].fallback != NULL)
        least--;
    if (function->nfixed < function->nparams)
        add_text(text, size, "at least %u argument%s", least, least == 1 ? "" : "s");
    else if (least < most)
        add_text(text, size, "%u to %u arguments", least, most);
    else
        add_text(text, size, "%u argument%s", most, most == 1 ? "" : "s");
}

static void add_label(char *text, size_t size, const rkb_function_t *function, uint32_t i)
{
    const char *name = function->params[i].name;
    add_text(text, size, "argument %u", i + 1);
    if (name != NULL)
        add_text(text, size, " (%s)", name);
}

/** Gives every fixed parameter its value; false: too many or too few, told in `why`. */
static bool place_arguments(const rkb_function_t *function, const rkb_value_t *args, size_t nargs,
                            const rkb_value_t **values, char *why)
{
    bool variadic = function->nfixed < function->nparams;
    if (nargs > function->nfixed && !variadic) {
        add_text(why, WHY_SIZE, "takes ");
        add_count(why, WHY_SIZE, function);
        add_text(why, WHY_SIZE, ", but %zu %s passed", nargs, nargs == 1 ? "was" : "were");
        return false;
    }
    for (uint32_t i = 0; i < function->nfixed; i++) {
        values[i] = i < nargs ? &args[i] : function->params[i].fallback;
        if (values[i] != NULL)
            continue;
        add_text(why, WHY_SIZE, "takes ");
        add_count(why, WHY_SIZE, function);
        add_text(why, WHY_SIZE, ", but %zu %s passed; ", nargs, nargs == 1 ? "was" : "were");
        add_label(why, WHY_SIZE, function, i);
        add_text(why, WHY_SIZE, " is missing");
        return false;
    }
    return true;
}

static rkb_call_status_t call_one(rkb_function_t *function, const rkb_value_t *args, size_t nargs,
                                  rkb_value_t *result, char *why, char *error, size_t error_size)
{
    const rkb_value_t *values[MAX_PARAMS];
    rkb_value_t rest = {.kind = RKB_VALUE_NONE};
    uint32_t bad = 0;

    if (!place_arguments(function, args, nargs, values, why))
        return RKB_CALL_BAD_SIGNATURE;
    if (function->nfixed < function->nparams) {
        size_t more = nargs > function->nfixed ? nargs - function->nfixed : 0;
        rkb_value_t tail = {.kind = RKB_VALUE_LIST, .count = more};
        tail.list = (rkb_value_t *)(args + (more > 0 ? function->nfixed : 0));
        if (rkb_rt_value_copy(&rest, &tail) != 0) {
            snprintf(error, error_size, "%s", rkb_rt_last_error());
            return RKB_CALL_EXCEPTION;
        }
        for (uint32_t i = function->nfixed; i < function->nparams; i++)
            values[i] = &rest;
    }
    rkb_call_status_t status = function->invoke(function, values, result, &bad, error, error_size);
    if (status == RKB_CALL_BAD_SIGNATURE && bad < function->nparams) {
        char passed[160];
        rkb_rt_value_describe(values[bad], passed, sizeof(passed));
        add_label(why, WHY_SIZE, function, bad);
        add_text(why, WHY_SIZE, " takes %s, but %s was passed", function->params[bad].type, passed);
    }
    rkb_rt_value_release(&rest);
    return status;
}

static rkb_call_status_t call_entry(void *self, const rkb_value_t *args, size_t nargs,
                                    rkb_value_t *result, char *error, size_t error_size)
{
    const binding_t *binding = self;
    char why[WHY_SIZE] = "";

    if (error_size > 0)
        error[0] = '\0';
    for (rkb_function_t *f = binding->first; f != NULL; f = f->next) {
        rkb_value_t value = {.kind = RKB_VALUE_NONE};
        why[0] = '\0';
        rkb_call_status_t status = call_one(f, args, nargs, &value, why, error, error_size);
        if (status == RKB_CALL_OK)
            *result = value;
        else
            rkb_rt_value_release(&value);
        if (status != RKB_CALL_BAD_SIGNATURE)
            return status;
    }
    snprintf(error, error_size, "%s%s: %s%s", binding->name, binding->signature,
             binding->first->next != NULL ? "no overload fits; the last one: " : "", why);
    return RKB_CALL_BAD_SIGNATURE;
}

static rkb_entry_t *find_entry(rkb_entry_t *entries, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

static int add_overload(rkb_entry_t *entry, rkb_function_t *function)
{
    binding_t *binding = entry->self;
    char text[SIGNATURE_SIZE];
    snprintf(text, sizeof(text), "%s or ", binding->signature);
    add_signature(text, sizeof(text), function);
    char *signature = strdup(text);
    if (signature == NULL)
        return rkb_rt_fail("out of memory");
    free(binding->signature);
    entry->signature = binding->signature = signature;
    rkb_function_t **last = &binding->first;
    while (*last != NULL)
        last = &(*last)->next;
    *last = function;
    return 0;
}

int rkb_rt_module_add(rkb_module_t *module, const char *name, rkb_function_t *function)
{
    rkb_entry_t *entries = (rkb_entry_t *)module->entries; /* grown only here */
    char text[SIGNATURE_SIZE] = "";

    if (function->nparams > MAX_PARAMS)
        return rkb_rt_fail("%s has more than %d parameters", name, MAX_PARAMS);
    function->next = NULL;
    rkb_entry_t *known = find_entry(entries, module->count, name);
    if (known != NULL)
        return add_overload(known, function);

    add_signature(text, sizeof(text), function);
    entries = realloc(entries, (module->count + 1) * sizeof(*entries));
    if (entries == NULL)
        return rkb_rt_fail("out of memory");
    module->entries = entries;
    binding_t *binding = calloc(1, sizeof(*binding));
    if (binding == NULL)
        return rkb_rt_fail("out of memory");
    binding->name = strdup(name);
    binding->signature = strdup(text);
    binding->first = function;
    if (binding->name == NULL || binding->signature == NULL)
        goto err_free;
    entries[module->count++] =
        (rkb_entry_t){binding->name, binding->signature, call_entry, binding};
    return 0;

err_free:
    free(binding->name);
    free(binding->signature);
    free(binding);
    return rkb_rt_fail("out of memory");
}
