/*
 * Compiles one candidate with rkb_compiler, loads it over the runtime and the execution model,
 * calls an entry and compares what it returns with operators of libtorch. Comment lines of the file
 * say how:
 *   //! entry NAME                     default: forward
 *   //! args f32[4,8] i64[4]%10 1e-5 3 true none (2,3) "mean"
 *   //! like OPERATOR ARG...           one line for each output, in order
 *   //! tol 1e-2                       relative to 1 + |value|; default 1e-4
 *   //! error STATUS TEXT              BAD_SIGNATURE, EXCEPTION or UNSUPPORTED instead of outputs
 * An ARG is $N (argument N), $N.t (its transpose) or a literal as above. f32, f64, f16, bf16 and
 * i64 tensors are filled with a fixed sequence.
 */
#include "common/error.h"
#include "common/file.h"
#include "evaluator/candidate/compile.h"
#include "evaluator/cell/runtime/runtime.h"
#include "evaluator/device/cpu/model.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA = 8 << 20, MAX_VALUES = 32, MAX_LIKES = 8 };
static const uint32_t POISON = 0x7fc0dead;

typedef struct {
    char entry[64];
    rkb_value_t args[MAX_VALUES];
    size_t nargs;
    const char *likes[MAX_LIKES];
    size_t nlikes;
    const char *error; /* "STATUS TEXT" */
    double tolerance;
} plan_t;

static unsigned char *arena;
static rkb_value_t none;

static int complain(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    return 1;
}

/* ---- values from text ---- */

static rkb_tensor_t *parse_tensor(const char *text)
{
    static const struct {
        const char *name;
        int32_t dtype;
    } types[] = {{"f32[", RKB_F32},   {"f64[", RKB_F64}, {"f16[", RKB_F16},
                 {"bf16[", RKB_BF16}, {"i64[", RKB_I64}, {"i32[", RKB_I32}};
    static unsigned salt;
    int64_t sizes[8];
    int32_t ndim = 0, dtype = -1;
    size_t skip = 0;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strncmp(text, types[i].name, strlen(types[i].name)) == 0) {
            dtype = types[i].dtype;
            skip = strlen(types[i].name);
        }
    if (dtype < 0)
        return NULL;
    char *at = (char *)text + skip;
    while (*at != ']' && *at != '\0' && ndim < 8) {
        sizes[ndim++] = strtoll(at, &at, 10);
        at += *at == ',';
    }
    const char *mod = strchr(at, '%');
    long bound = mod != NULL ? strtol(mod + 1, NULL, 10) : 5;
    rkb_tensor_t *host = rkb_rt_tensor_empty(sizes, ndim, RKB_F64, RKB_DEVICE_CPU);
    rkb_tensor_t *tensor = rkb_rt_tensor_empty(sizes, ndim, dtype, RKB_DEVICE_CUDA);
    salt += 17;
    for (int64_t i = 0; i < host->numel; i++) {
        long k = (long)((uint64_t)(i + salt) * 2654435761u >> 7) % 1000;
        ((double *)host->data)[i] =
            dtype == RKB_I64 || dtype == RKB_I32 ? (double)(k % bound) : (double)(k - 500) / 256.0;
    }
    rkb_rt_tensor_copy(tensor, host);
    rkb_rt_tensor_release(host);
    return tensor;
}

static rkb_value_t transpose(const rkb_value_t *of)
{
    rkb_tensor_t *t = of->tensor;
    int64_t sizes[] = {t->sizes[1], t->sizes[0]}, strides[] = {t->strides[1], t->strides[0]};
    return (rkb_value_t){.kind = RKB_VALUE_TENSOR,
                         .tensor = rkb_rt_tensor_as_strided(t, sizes, strides, 2, t->data)};
}

static rkb_value_t parse_value(const plan_t *plan, const char *text)
{
    rkb_value_t value = {.kind = RKB_VALUE_NONE};
    if (text[0] == '$') {
        char *end;
        size_t i = strtoul(text + 1, &end, 10);
        if (strcmp(end, ".t") == 0)
            return transpose(&plan->args[i]);
        rkb_rt_value_copy(&value, &plan->args[i]);
    } else if (strchr(text, '[') != NULL) {
        value.kind = RKB_VALUE_TENSOR;
        value.tensor = parse_tensor(text);
    } else if (text[0] == '(') {
        rkb_rt_value_list(&value, 0);
        char *at = (char *)text + 1;
        value.list = realloc(value.list, 16 * sizeof(rkb_value_t));
        while (*at != ')' && *at != '\0' && value.count < 16) {
            value.list[value.count++] =
                (rkb_value_t){.kind = RKB_VALUE_INT, .i = strtoll(at, &at, 10)};
            at += *at == ',';
        }
    } else if (text[0] == '"') {
        value.kind = RKB_VALUE_STRING;
        value.s = strndup(text + 1, strlen(text) - 2);
    } else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        value.kind = RKB_VALUE_BOOL;
        value.i = text[0] == 't';
    } else if (strcmp(text, "none") != 0) {
        bool real = strpbrk(text, ".e") != NULL;
        value.kind = real ? RKB_VALUE_DOUBLE : RKB_VALUE_INT;
        if (real)
            value.d = strtod(text, NULL);
        else
            value.i = strtoll(text, NULL, 10);
    }
    return value;
}

static size_t parse_values(const plan_t *plan, const char *line, rkb_value_t *out)
{
    char *copy = strdup(line), *save = NULL;
    size_t n = 0;
    for (char *word = strtok_r(copy, " ", &save); word != NULL && n < MAX_VALUES;
         word = strtok_r(NULL, " ", &save))
        out[n++] = parse_value(plan, word);
    free(copy);
    return n;
}

static void release_values(rkb_value_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        rkb_rt_value_release(&values[i]);
}

/* ---- the plan in the file ---- */

static const char *after(const char *line, const char *key)
{
    size_t n = strlen(key);
    return strncmp(line, key, n) == 0 ? line + n : NULL;
}

static void read_plan(char *source, plan_t *plan)
{
    char *save = NULL;
    const char *rest;
    snprintf(plan->entry, sizeof(plan->entry), "forward");
    plan->tolerance = 1e-4;
    for (char *line = strtok_r(source, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if ((rest = after(line, "//! entry ")) != NULL)
            snprintf(plan->entry, sizeof(plan->entry), "%s", rest);
        else if ((rest = after(line, "//! args ")) != NULL)
            plan->nargs = parse_values(plan, rest, plan->args);
        else if ((rest = after(line, "//! like ")) != NULL && plan->nlikes < MAX_LIKES)
            plan->likes[plan->nlikes++] = rest;
        else if ((rest = after(line, "//! tol ")) != NULL)
            plan->tolerance = strtod(rest, NULL);
        else if ((rest = after(line, "//! error ")) != NULL)
            plan->error = rest;
    }
}

/* ---- checks ---- */

static double element(const rkb_tensor_t *tensor, int64_t i)
{
    return ((const double *)tensor->data)[i];
}

static rkb_tensor_t *as_doubles(const rkb_tensor_t *tensor)
{
    rkb_tensor_t *copy = rkb_rt_tensor_empty(tensor->sizes, tensor->ndim, RKB_F64, RKB_DEVICE_CPU);
    rkb_rt_tensor_copy(copy, tensor);
    return copy;
}

static int compare(const rkb_tensor_t *got, const rkb_tensor_t *want, double tolerance,
                   size_t which)
{
    if (got->ndim != want->ndim ||
        memcmp(got->sizes, want->sizes, (size_t)got->ndim * sizeof(int64_t)) != 0) {
        char text[2][128];
        rkb_value_t a = {.kind = RKB_VALUE_TENSOR, .tensor = (rkb_tensor_t *)got};
        rkb_value_t b = {.kind = RKB_VALUE_TENSOR, .tensor = (rkb_tensor_t *)want};
        rkb_rt_value_describe(&a, text[0], sizeof(text[0]));
        rkb_rt_value_describe(&b, text[1], sizeof(text[1]));
        fprintf(stderr, "output %zu is %s instead of %s\n", which, text[0], text[1]);
        return 1;
    }
    rkb_tensor_t *a = as_doubles(got), *b = as_doubles(want);
    int rc = 0;
    for (int64_t i = 0; i < a->numel && rc == 0; i++) {
        double error = fabs(element(a, i) - element(b, i));
        if (!(error <= tolerance * (1 + fabs(element(b, i))))) {
            fprintf(stderr, "output %zu, element %lld: %g instead of %g\n", which, (long long)i,
                    element(a, i), element(b, i));
            rc = 1;
        }
    }
    rkb_rt_tensor_release(a);
    rkb_rt_tensor_release(b);
    return rc;
}

static int check_guards(void)
{
    const rkb_heap_alloc_t *records;
    size_t n = rkb_heap_records(&records), at = 0;
    for (uint64_t i = 0; i < rkb_heap_used(); i++) {
        while (at < n && i >= records[at].offset + records[at].bytes)
            at++;
        if (at < n && i >= records[at].offset)
            continue;
        if (arena[i] != ((const unsigned char *)&POISON)[i % 4])
            return complain("guards", "a write outside of every allocation");
    }
    return 0;
}

static int check_outputs(const plan_t *plan, const rkb_value_t *result)
{
    bool one = result->kind == RKB_VALUE_TENSOR;
    size_t count = one ? 1 : result->count;
    if (count != plan->nlikes && plan->nlikes > 0)
        return complain(plan->entry, "another number of outputs than \"like\" lines");
    for (size_t i = 0; i < plan->nlikes; i++) {
        char name[128];
        rkb_value_t args[MAX_VALUES], want = none;
        size_t len = strcspn(plan->likes[i], " "), n = 1;
        snprintf(name, sizeof(name), "%.*s", (int)len, plan->likes[i]);
        size_t nargs = parse_values(plan, plan->likes[i] + len, args);
        if (rkb_rt_call_operator(name, args, nargs, &want, &n) != 0)
            return complain(name, rkb_rt_last_error());
        rkb_value_t got = one ? *result : rkb_rt_value_item(result, i);
        int rc = got.kind == RKB_VALUE_TENSOR ? compare(got.tensor, want.tensor, plan->tolerance, i)
                                              : complain(plan->entry, "an output is no tensor");
        rkb_rt_value_release(&want);
        release_values(args, nargs);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int check_error(const plan_t *plan, rkb_call_status_t status, const char *error)
{
    static const char *const names[] = {"OK", "BAD_SIGNATURE", "EXCEPTION", "UNSUPPORTED"};
    const char *text = strchr(plan->error, ' ') + 1;
    size_t len = (size_t)(text - 1 - plan->error);
    if (strncmp(plan->error, names[status], len) == 0 && strlen(names[status]) == len &&
        strstr(error, text) != NULL)
        return 0;
    fprintf(stderr, "%s: %s instead of %s\n", names[status], error, plan->error);
    return 1;
}

static int run(plan_t *plan, const rkb_module_t *module)
{
    for (uint32_t i = 0; i < module->count; i++) {
        const rkb_entry_t *entry = &module->entries[i];
        if (strcmp(entry->name, plan->entry) != 0)
            continue;
        char error[1024] = "";
        rkb_value_t result = none;
        rkb_call_status_t status =
            entry->call(entry->self, plan->args, plan->nargs, &result, error, sizeof(error));
        if (plan->error != NULL)
            return check_error(plan, status, error);
        if (status != RKB_CALL_OK)
            return complain(plan->entry, error);
        if (rkb_cpu_model_report().error != 0)
            return complain("launch failed", rkb_cpu_model_report().kernel);
        int rc = check_guards() || check_outputs(plan, &result);
        rkb_rt_value_release(&result);
        return rc;
    }
    return complain(plan->entry, module->error != NULL ? module->error : "is not bound");
}

static int load_and_run(const char *object, char *source)
{
    plan_t plan = {.nargs = 0};
    void *handle = dlopen(object, RTLD_NOW);
    if (handle == NULL)
        return complain("dlopen", dlerror());
    rkb_module_fn_t module = NULL;
    *(void **)&module = dlsym(handle, RKB_MODULE_SYMBOL);
    if (module == NULL)
        return complain("dlsym", dlerror());
    arena = aligned_alloc(4096, ARENA);
    rkb_runtime_begin(arena, 0, ARENA, POISON);
    rkb_cpu_model_begin(POISON, 1);
    read_plan(source, &plan);
    int rc = run(&plan, module());
    release_values(plan.args, plan.nargs);
    free(arena);
    return rc;
}

int main(int argc, char **argv)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_compiler_t *compiler;
    char *source;
    size_t len;

    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE.cu CACHE\n", argv[0]);
        return 2;
    }
    rkb_compile_options_t options = {.cache_dir = argv[2]};
#ifdef RKB_SANITIZED
    options.sanitize = true;
#endif
    if (rkb_file_read(argv[1], 1 << 20, &source, &len, &err) != RKB_OK ||
        rkb_compiler_create(&options, &compiler, &err) != RKB_OK)
        return rkb_error_print(&err, argv[0]);
    const char *slash = strrchr(argv[1], '/');
    rkb_compile_job_t *job =
        rkb_compiler_start(compiler, slash != NULL ? slash + 1 : argv[1], source, len);
    int rc = 1;
    if (rkb_compile_job_wait(job) != RKB_COMPILE_DONE)
        fprintf(stderr, "%s\n%s", rkb_compile_job_message(job), rkb_compile_job_log(job));
    else
        rc = load_and_run(rkb_compile_job_path(job), source);
    printf("compiled in %.2f s%s\n", rkb_compile_job_take_seconds(job),
           rkb_compile_job_cached(job) ? " (from the cache)" : "");
    rkb_compiler_destroy(compiler);
    free(source);
    return rc;
}
