#include "evaluator/candidate/toolchain.h"

#include "common/file.h"
#include "common/process.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Why these:
 * -ffp-contract=off  a GPU fuses a*b+c where nvcc likes; what is fused here would depend on the
 *                    compiler, so nothing is, unless the source says fmaf. Bits are then the same
 *                    on every host, with or without the vector units enabled below.
 * -fno-strict-aliasing, -fwrapv   sources reinterpret float as float4 and let integers wrap, which
 *                    nvcc tolerates.
 * -fno-math-errno, -fno-trapping-math   device code knows neither errno nor traps.
 * __CUDA_ARCH__      one compilation serves host and device; functions with two bodies are wanted
 *                    for their device body, so it is defined.
 * -z,defs with --warn-unresolved-symbols   the linker lists what is undefined; diagnose.c refuses
 *                    all but the runtime's functions, which the cell provides at load.
 */
static const char *const common_arguments[] = {"-x",
                                               "c++",
                                               "-std=c++17",
                                               "-O3",
                                               "-fPIC",
                                               "-shared",
                                               "-w",
                                               "-fvisibility=hidden",
                                               "-fvisibility-inlines-hidden",
                                               "-fno-strict-aliasing",
                                               "-fwrapv",
                                               "-ffp-contract=off",
                                               "-fno-math-errno",
                                               "-fno-trapping-math",
                                               "-fmessage-length=0",
                                               "-DRKB_CPU=1",
                                               "-DTORCH_EXTENSION_NAME=rkb_candidate",
                                               "-D__CUDACC__=1",
                                               "-D__NVCC__=1",
                                               "-D__CUDA_ARCH__=900",
                                               "-D__CUDACC_VER_MAJOR__=12",
                                               "-D__CUDACC_VER_MINOR__=4",
                                               "-D__CUDACC_RELAXED_CONSTEXPR__=1",
                                               "-D__CUDACC_EXTENDED_LAMBDA__=1",
                                               "-Wl,-z,defs",
                                               "-Wl,--warn-unresolved-symbols",
                                               "-Wl,-Bsymbolic",
                                               "-Wl,--build-id=none",
                                               NULL};
/* No source lines in messages: #line could make the compiler quote any file of the host. */
static const char *const gcc_arguments[] = {"-fno-diagnostics-show-caret",
                                            "-fdiagnostics-color=never", "-fmax-errors=20",
                                            "-fno-gnu-unique", NULL};
static const char *const clang_arguments[] = {"-fno-caret-diagnostics", "-fno-color-diagnostics",
                                              "-ferror-limit=20", NULL};
static const char *const sanitize_arguments[] = {"-fsanitize=address,undefined",
                                                 "-fno-sanitize=vptr",
                                                 "-fno-sanitize-recover=undefined",
                                                 "-fno-omit-frame-pointer",
                                                 "-g1",
                                                 "-O1",
                                                 NULL};
/* Needs a part of the runtime that only C++ programs are linked with, as -fsanitize=vptr does. */
static const char *const clang_sanitize_arguments[] = {"-fno-sanitize=function", NULL};
/* Options of nvcc that mean nothing to a host compiler. */
static const char *const nvcc_only[] = {
    "--use_fast_math", "-use_fast_math",  "--expt-", "-gencode", "--gencode", "-arch", "--gpu-",
    "-lineinfo",       "--ptxas-options", "-Xptxas", "-lcudart", "-lcuda",    NULL};

/* A sanitized candidate shares the sanitizers' runtime of the cell, so their compiler too. */
static const char *default_compiler(bool sanitize)
{
#ifdef __clang__
    return sanitize ? "clang++" : "c++";
#else
    return sanitize ? "g++" : "c++";
#endif
}

static void add(rkb_toolchain_t *tc, char *argument)
{
    tc->arguments = rkb_xrealloc(tc->arguments, tc->narguments + 2, sizeof tc->arguments[0]);
    tc->arguments[tc->narguments++] = argument;
    tc->arguments[tc->narguments] = NULL;
}

static void add_all(rkb_toolchain_t *tc, const char *const *arguments)
{
    for (; *arguments; arguments++)
        add(tc, rkb_xstrdup(*arguments));
}

static bool starts_with_any(const char *text, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        if (strncmp(text, *prefixes, strlen(*prefixes)) == 0)
            return true;
    }
    return false;
}

static void add_vector_units(rkb_toolchain_t *tc)
{
#if defined(__x86_64__)
    static const char *const avx2[] = {"-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", NULL};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        add_all(tc, avx2);
#else
    (void)tc;
#endif
}

static void add_arguments(rkb_toolchain_t *tc, const char *extra, bool sanitize)
{
    bool clang = strstr(tc->version, "clang") != NULL;
    add_all(tc, common_arguments);
    add_all(tc, clang ? clang_arguments : gcc_arguments);
    add_vector_units(tc);
    add(tc, rkb_strf("-I%s/torch", tc->include_dir));
    add(tc, rkb_strf("-I%s/cuda", tc->include_dir));
    add(tc, rkb_strf("-I%s", tc->include_dir));
    add(tc, rkb_xstrdup("-include"));
    add(tc, rkb_xstrdup("cuda_runtime.h"));
    tc->flags =
        rkb_strf("-O3 -ffp-contract=off%s", sanitize ? " -fsanitize=address,undefined" : "");
    if (sanitize)
        add_all(tc, sanitize_arguments);
    if (sanitize && clang)
        add_all(tc, clang_sanitize_arguments);
    char *copy = rkb_xstrdup(extra ? extra : "");
    char *save = NULL;
    for (char *word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        if (starts_with_any(word, nvcc_only))
            continue;
        add(tc, rkb_xstrdup(word));
        char *longer = rkb_strf("%s %s", tc->flags, word);
        free(tc->flags);
        tc->flags = longer;
    }
    free(copy);
}

/* Runs `compiler --version` and keeps the first line. */
static rkb_status_t read_version(rkb_toolchain_t *tc, rkb_error_t *err)
{
    int out = memfd_create("rkb-version", MFD_CLOEXEC);
    if (out < 0)
        return rkb_error_set(err, RKB_ERR_IO, "memfd_create: %s", strerror(errno));
    const char *argv[] = {tc->compiler, "--version", NULL};
    const char *env[] = {tc->path_env, "LC_ALL=C", NULL};
    rkb_process_params_t params = RKB_PROCESS_PARAMS_INIT;
    params.argv = argv;
    params.env = env;
    params.stdout_fd = out;
    params.new_group = true;
    rkb_process_result_t result;
    char line[256] = "";
    rkb_status_t status = rkb_process_run(&params, 20, &result, err);
    if (status != RKB_OK) {
        rkb_error_prefix(err, "compiler %s", tc->compiler);
    } else if (!result.exited || result.exit_code != 0 ||
               pread(out, line, sizeof line - 1, 0) <= 0) {
        char how[64];
        status = rkb_error_set(err, RKB_ERR_NOT_FOUND, "%s --version: %s", tc->compiler,
                               rkb_process_describe(&result, how, sizeof how));
    } else {
        line[strcspn(line, "\n")] = '\0';
        tc->version = rkb_xstrdup(line);
    }
    close(out);
    return status;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Names and contents of all headers, in a fixed order. */
static rkb_status_t hash_headers(rkb_toolchain_t *tc, rkb_error_t *err)
{
    rkb_sha256_t *hash;
    rkb_status_t status = rkb_sha256_create(&hash, err);
    if (status != RKB_OK)
        return status;
    char *roots[] = {tc->include_dir, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    FTSENT *entry;
    while (tree && status == RKB_OK && (entry = fts_read(tree))) {
        if (entry->fts_info != FTS_F)
            continue;
        char *data;
        size_t len;
        status = rkb_file_read(entry->fts_accpath, 16 << 20, &data, &len, err);
        if (status != RKB_OK)
            break;
        rkb_sha256_update_field(hash, entry->fts_path + strlen(tc->include_dir));
        rkb_sha256_update(hash, data, len);
        free(data);
    }
    if (!tree)
        status = rkb_error_set(err, RKB_ERR_IO, "%s: %s", tc->include_dir, strerror(errno));
    else
        fts_close(tree);
    if (status == RKB_OK)
        rkb_sha256_finish(hash, tc->headers_sha256);
    rkb_sha256_destroy(hash);
    return status;
}

rkb_status_t rkb_toolchain_find(const char *compiler, const char *extra_flags, bool sanitize,
                                rkb_toolchain_t *out, rkb_error_t *err)
{
    rkb_toolchain_t tc = {.narguments = 0};
    const char *path = getenv("PATH");
    const char *chosen = getenv("RKB_CXX");
    if (compiler)
        chosen = compiler;
    tc.compiler = rkb_xstrdup(chosen && *chosen ? chosen : default_compiler(sanitize));
    tc.path_env = rkb_strf("PATH=%s", path && *path ? path : "/usr/local/bin:/usr/bin:/bin");
    rkb_status_t status = RKB_OK;
    tc.include_dir = rkb_install_path("include", err);
    if (!tc.include_dir)
        status = RKB_ERR_NOT_FOUND;
    if (status == RKB_OK)
        status = read_version(&tc, err);
    if (status == RKB_OK)
        status = hash_headers(&tc, err);
    if (status != RKB_OK) {
        rkb_toolchain_release(&tc);
        return status;
    }
    add_arguments(&tc, extra_flags, sanitize);
    *out = tc;
    return RKB_OK;
}

void rkb_toolchain_release(rkb_toolchain_t *tc)
{
    for (size_t i = 0; i < tc->narguments; i++)
        free(tc->arguments[i]);
    free(tc->arguments);
    free(tc->compiler);
    free(tc->version);
    free(tc->include_dir);
    free(tc->flags);
    free(tc->path_env);
    *tc = (rkb_toolchain_t){.narguments = 0};
}
