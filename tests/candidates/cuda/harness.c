/*
 * Compiles one .cu file with rkb_compiler, loads it over the execution model and calls its
 * `extern "C" int test_main()`: 0 is a pass, anything else the failing line. The first line of the
 * file says what is expected: "// expect: ok" or "// expect: trap TEXT" (the status page's text),
 * "// expect: fail TEXT" or "// expect: unsupported TEXT" (of compiling).
 */
#include "common/error.h"
#include "common/file.h"
#include "common/process.h"
#include "evaluator/candidate/compile.h"
#include "evaluator/device/cpu/model.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STATUS_FD = 3 };

/* Device memory for the tests: the runtime's heap belongs to a cell. */
void *rkb_rt_device_alloc(size_t bytes)
{
    return malloc(bytes);
}

int rkb_rt_device_free(void *pointer)
{
    free(pointer);
    return 0;
}

static rkb_cell_status_t *map_status(int fd)
{
    void *map = mmap(NULL, sizeof(rkb_cell_status_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

/* The child: status page on descriptor 3. */
static int run_object(const char *path)
{
    rkb_cell_status_t *status = map_status(STATUS_FD);
    if (!status)
        return 98;
    rkb_cpu_model_set_status(status);
    rkb_cpu_model_begin(0x7fc0dead, 0);
    void *object = dlopen(path, RTLD_NOW);
    if (!object) {
        fprintf(stderr, "%s\n", dlerror());
        return 98;
    }
    int (*test_main)(void) = NULL;
    *(void **)&test_main = dlsym(object, "test_main");
    if (!test_main) {
        fprintf(stderr, "%s\n", dlerror());
        return 98;
    }
    int line = test_main();
    if (line)
        fprintf(stderr, "%s: check in line %d failed\n", path, line);
    return line ? 1 : 0;
}

static int spawn_and_compare(const char *program, const char *object, const char *trap)
{
    rkb_error_t err = RKB_ERROR_INIT;
    int fd = memfd_create("status", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(rkb_cell_status_t)) != 0)
        return 98;
    const char *argv[] = {program, "--run", object, NULL};
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    params.argv = argv;
    params.stdout_fd = -2;
    params.stderr_fd = -2;
    params.pass_fds = &fd;
    params.pass_count = 1;
    params.new_group = params.die_with_parent = true;
    rkb_process_result_t result;
    char how[64];
    if (rkb_process_run(&params, 60, &result, &err) != RKB_OK)
        return rkb_error_print(&err, program);
    rkb_process_describe(&result, how, sizeof how);
    rkb_cell_status_t *status = map_status(fd);
    if (!status)
        return 98;
    bool trapped = result.exited && result.exit_code == RKB_CPU_MODEL_EXIT;
    if (trap && trapped && strstr(status->text, trap))
        return 0;
    if (!trap && result.exited && result.exit_code == 0)
        return 0;
    fprintf(stderr, "expected %s%s, got %s, text \"%s\"\n", trap ? "trap " : "ok", trap ? trap : "",
            how, status->text);
    return 1;
}

static bool take(const char *text, const char *prefix, const char **rest)
{
    size_t size = strlen(prefix);
    if (strncmp(text, prefix, size) != 0)
        return false;
    *rest = text + size;
    return true;
}

int main(int argc, char **argv)
{
    rkb_error_t err = RKB_ERROR_INIT;
    if (argc == 3 && strcmp(argv[1], "--run") == 0)
        return run_object(argv[2]);
    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE.cu CACHE\n", argv[0]);
        return 2;
    }
    char *source;
    size_t len;
    rkb_compiler_t *compiler;
#ifdef RKB_SANITIZED
    rkb_compile_options_t options = {.cache_dir = argv[2], .sanitize = true};
#else
    rkb_compile_options_t options = {.cache_dir = argv[2]};
#endif
    if (rkb_file_read(argv[1], 1 << 20, &source, &len, &err) != RKB_OK ||
        rkb_compiler_create(&options, &compiler, &err) != RKB_OK)
        return rkb_error_print(&err, argv[0]);
    const char *slash = strrchr(argv[1], '/');
    rkb_compile_job_t *job = rkb_compiler_start(compiler, slash ? slash + 1 : argv[1], source, len);
    rkb_compile_state_t state = rkb_compile_job_wait(job);

    char first[256];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(source, "\n"), source);
    const char *text = NULL;
    int rc = 1;
    if (take(first, "// expect: fail ", &text) || take(first, "// expect: unsupported ", &text)) {
        bool right =
            state == (strstr(first, "unsupported") ? RKB_COMPILE_UNSUPPORTED : RKB_COMPILE_FAILED);
        rc = right && strstr(rkb_compile_job_message(job), text) ? 0 : 1;
        if (rc)
            fprintf(stderr, "state %d, message \"%s\"\n%s", (int)state,
                    rkb_compile_job_message(job), rkb_compile_job_log(job));
    } else if (state != RKB_COMPILE_DONE) {
        fprintf(stderr, "state %d, message \"%s\"\n%s", (int)state, rkb_compile_job_message(job),
                rkb_compile_job_log(job));
    } else {
        take(first, "// expect: trap ", &text);
        if (!text && strcmp(first, "// expect: ok") != 0)
            fprintf(stderr, "%s: no expectation in its first line\n", argv[1]);
        else
            rc = spawn_and_compare(argv[0], rkb_compile_job_path(job), text);
    }
    rkb_compiler_destroy(compiler);
    free(source);
    return rc;
}
