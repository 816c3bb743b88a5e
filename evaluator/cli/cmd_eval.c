#include "evaluator/cli/commands.h"

#include "common/file.h"
#include "common/json.h"
#include "common/options.h"
#include "evaluator/rkb.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *task, *direction, *configs, *config, *device, *tasks, *cache_dir, *cxx_flags;
    uint64_t seed;
    int64_t trials;
    double timeout, compile_timeout;
    bool json, samples, controls, fail_on_any, sanitize;
} eval_options_t;

#define OPT(_field) offsetof(eval_options_t, _field)
static const rkb_option_t eval_option_table[] = {
    {"task", 't', RKB_OPT_STRING, OPT(task), "TASK", "task the kernel is for (`rkb tasks list`)"},
    {"direction", 'd', RKB_OPT_CHOICE, OPT(direction), "forward|backward",
     "which entry is judged (default: forward)"},
    {"configs", 0, RKB_OPT_STRING, OPT(configs), "SET",
     "config set: smoke, single, multi or another of the task (default: smoke)"},
    {"config", 'c', RKB_OPT_STRING, OPT(config), "CONFIG",
     "one config by its name in a report, B=64,I=128,O=10,init=kaiming"},
    {"seed", 's', RKB_OPT_UINT64, OPT(seed), "N", "seed of all inputs (default: a fresh one)"},
    {"trials", 0, RKB_OPT_INT, OPT(trials), "N",
     "checks per config, each on data of its own (default: 5)", 1, 1000},
    {"timeout", 0, RKB_OPT_DURATION, OPT(timeout), "TIME", "limit for one call (default: 30s)"},
    {"compile-timeout", 0, RKB_OPT_DURATION, OPT(compile_timeout), "TIME",
     "limit for one compile job (default: 120s)"},
    {"device", 0, RKB_OPT_CHOICE, OPT(device), "auto|cpu|cuda", "device (default: auto)"},
    {"tasks", 0, RKB_OPT_STRING, OPT(tasks), "DIR",
     "folder of tasks (default: the installed ones)"},
    {"cache-dir", 0, RKB_OPT_STRING, OPT(cache_dir), "DIR", "cache of compiled candidates"},
    {"cxx-flags", 0, RKB_OPT_STRING, OPT(cxx_flags), "FLAGS", "further compiler flags"},
    {"sanitize", 0, RKB_OPT_FLAG, OPT(sanitize), NULL,
     "build the candidate with ASan and UBSan (CPU device)"},
    {"samples", 0, RKB_OPT_FLAG, OPT(samples), NULL, "judge the task's own sample candidates"},
    {"controls", 0, RKB_OPT_FLAG, OPT(controls), NULL,
     "judge the controls @reference, @zeros, @mean, @copy"},
    {"json", 'j', RKB_OPT_FLAG, OPT(json), NULL, "print each result as one line of JSON"},
    {"fail-on-any", 0, RKB_OPT_FLAG, OPT(fail_on_any), NULL, "exit 1 unless every verdict is ok"},
    {NULL},
};

static const rkb_command_line_t eval_line = {
    .program = "rkb eval",
    .synopsis = "--task TASK [options] [FILE.cu…]",
    .summary = "Judges kernels for one task and prints a verdict for each config.",
    .epilog = "examples:\n"
              "  rkb eval --task layernorm my_layernorm.cu\n"
              "  rkb eval --task mnist_linear --direction backward --configs multi my.cu\n"
              "  rkb eval --task layernorm --seed 42 --config B=2,C=3,D1=5,D2=7,init=random my.cu\n"
              "  rkb eval --task layernorm --controls\n\n"
              "exit codes: 0 every item judged, 1 --fail-on-any met, 2 usage, 3 no usable device, "
              "4 an item could not be judged",
    .options = eval_option_table,
};

/* Items are judged as they are planned: one kernel has a handful of configs. */
typedef struct {
    rkb_evaluator_t *evaluator;
    const eval_options_t *options;
    int items, ok, ours;
} eval_t;

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(node) ? node->valuestring : "";
}

static void print_result(const cJSON *result)
{
    const char *verdict = text_of(result, "verdict");
    bool color = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
    bool ok = strcmp(verdict, "ok") == 0;
    printf("%s%-15s%s %s  %s\n", color ? (ok ? "\033[32m" : "\033[31m") : "", verdict,
           color ? "\033[0m" : "", text_of(result, "candidate"), text_of(result, "config"));
    if (text_of(result, "detail")[0] != '\0') {
        printf("    %s\n", text_of(result, "detail"));
    }
    const cJSON *ratio = cJSON_GetObjectItemCaseSensitive(result, "error_ratio");
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(result, "max_abs_error");
    if (ok && cJSON_IsNumber(ratio) && cJSON_IsNumber(error)) {
        printf("    max error %.3g, %.2f times libtorch's own", error->valuedouble,
               ratio->valuedouble);
        const cJSON *ms = cJSON_GetObjectItemCaseSensitive(result, "candidate_ms");
        if (cJSON_IsNumber(ms)) {
            printf("; %.3g ms", ms->valuedouble);
        }
        const cJSON *flag;
        cJSON_ArrayForEach(flag, cJSON_GetObjectItemCaseSensitive(result, "flags"))
        {
            printf(" [%s]", cJSON_IsString(flag) ? flag->valuestring : "?");
        }
        printf("\n");
    }
    if (text_of(result, "log")[0] != '\0') {
        printf("    compiler output: %s\n", text_of(result, "log"));
    }
}

static rkb_status_t eval_sink(const cJSON *line, void *context, rkb_error_t *err)
{
    eval_t *eval = context;
    if (strcmp(text_of(line, "op"), "notice") == 0) {
        fprintf(stderr, "rkb eval: note: %s\n", text_of(line, "text"));
        return RKB_OK;
    }
    cJSON *result =
        rkb_evaluator_judge(eval->evaluator, cJSON_GetObjectItemCaseSensitive(line, "payload"));
    if (result == NULL) {
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "out of memory for a result");
    }
    const char *verdict = text_of(result, "verdict");
    eval->items++;
    eval->ok += strcmp(verdict, "ok") == 0;
    eval->ours += strcmp(verdict, "infra_error") == 0 || strcmp(verdict, "reference_error") == 0;
    if (eval->options->json) {
        char *text = rkb_json_print_line(result);
        if (text != NULL) {
            puts(text);
        }
        free(text);
    } else {
        print_result(result);
    }
    fflush(stdout);
    cJSON_Delete(result);
    return RKB_OK;
}

static rkb_status_t run_eval(const eval_options_t *options, char **files, int count, eval_t *eval,
                             rkb_error_t *err)
{
    rkb_evaluator_params_t params = {
        .device = options->device,
        .tasks = options->tasks,
        .seed = options->seed,
        .trials = (int)options->trials,
        .timeout = options->timeout,
        .compile_timeout = options->compile_timeout,
        .cache_dir = options->cache_dir,
        .cxx_flags = options->cxx_flags,
        .sanitize = options->sanitize,
    };
    rkb_status_t status = rkb_evaluator_create(&params, &eval->evaluator, err);
    if (status != RKB_OK) {
        return status;
    }
    if (!options->json) {
        printf("seed %llu\n", (unsigned long long)options->seed);
    }
    rkb_plan_params_t plan = {
        .kernels = (const char *const *)files,
        .kernel_count = count,
        .samples = options->samples,
        .controls = options->controls,
        .configs = options->configs,
        .config = options->config,
        .task = options->task,
        .direction = options->direction,
    };
    cJSON *done = NULL;
    status = rkb_evaluator_plan(eval->evaluator, &plan, eval_sink, eval, &done, err);
    cJSON_Delete(done);
    return status;
}

int rkb_cmd_eval(int argc, char **argv)
{
    eval_options_t options = {
        .direction = "forward", .configs = "smoke", .device = "auto", .seed = rkb_seed_fresh()};
    rkb_error_t err = RKB_ERROR_INIT;
    int positional = 0;
    rkb_parse_next_t next = RKB_PARSE_RUN;
    rkb_status_t status =
        rkb_options_parse(&eval_line, argc, argv, &options, &positional, &next, &err);
    if (status == RKB_OK && next == RKB_PARSE_EXIT) {
        return 0;
    }
    if (status == RKB_OK && options.task == NULL) {
        status = rkb_error_set(&err, RKB_ERR_USAGE,
                               "--task is missing; `rkb tasks list` shows the tasks");
    }
    if (status == RKB_OK && positional == 0 && !options.samples && !options.controls) {
        status =
            rkb_error_set(&err, RKB_ERR_USAGE, "no kernel given: name a .cu file, or --samples");
    }
    for (int i = 1; status == RKB_OK && i <= positional; i++) {
        struct stat info;
        if (stat(argv[i], &info) != 0) {
            status = rkb_error_set(&err, RKB_ERR_NOT_FOUND, "%s: no such file", argv[i]);
        } else if (!S_ISREG(info.st_mode)) {
            status = rkb_error_set(&err, RKB_ERR_INVALID, "%s: not a regular file", argv[i]);
        }
    }
    eval_t eval = {.options = &options};
    if (status == RKB_OK) {
        status = run_eval(&options, argv + 1, positional, &eval, &err);
    }
    rkb_evaluator_destroy(eval.evaluator);
    if (status != RKB_OK) {
        return rkb_error_print(&err, "rkb eval");
    }
    if (eval.ours > 0) {
        return rkb_status_exit_code(RKB_ERR_INTERNAL);
    }
    return options.fail_on_any && eval.ok != eval.items ? 1 : 0;
}
