/**
 * @file compile.h
 * Compile jobs and the content-addressed cache. A job is a child process with limits; several run
 * at once; the owner polls. Not thread-safe.
 */
#ifndef RKB_CANDIDATE_COMPILE_H
#define RKB_CANDIDATE_COMPILE_H

#include "common/error.h"
#include "common/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *cache_dir;  /* NULL: RKB_CACHE_DIR, XDG_CACHE_HOME/rkb, ~/.cache/rkb */
    const char *compiler;   /* NULL: RKB_CXX, else c++ (sanitize: that which built rkb) */
    const char *flags;      /* extra flags, split at blanks; NULL: none */
    double timeout;         /* seconds for one job; 0: 120 */
    uint64_t memory_limit;  /* bytes of address space of each compiler process; 0: 4 GiB */
    bool sanitize;          /* ASan and UBSan in the candidate */
} rkb_compile_options_t;

typedef enum {
    RKB_COMPILE_RUNNING,
    RKB_COMPILE_DONE,        /* path() names the shared object */
    RKB_COMPILE_FAILED,      /* compile_error: message() has the compiler's first error */
    RKB_COMPILE_TIMED_OUT,   /* compile_timeout */
    RKB_COMPILE_UNSUPPORTED, /* the device cannot run what the source asks for */
    RKB_COMPILE_BROKEN       /* ours: no compiler, cache not writable */
} rkb_compile_state_t;

typedef struct rkb_compiler rkb_compiler_t;
typedef struct rkb_compile_job rkb_compile_job_t;

/** Finds the compiler and its version (part of every key) and makes the cache folder. */
rkb_status_t rkb_compiler_create(const rkb_compile_options_t *options, rkb_compiler_t **out,
                                 rkb_error_t *err);
void rkb_compiler_destroy(rkb_compiler_t *compiler); /* kills running jobs; NULL allowed */
const char *rkb_compiler_version(const rkb_compiler_t *compiler); /* "g++ (Debian …) 12.2.0" */
const char *rkb_compiler_cache_dir(const rkb_compiler_t *compiler);
const char *rkb_compiler_flags(const rkb_compiler_t *compiler);   /* as given in the report */

/**
 * Starts (or finds in the cache, or among running and failed jobs of this compiler) the build of one
 * source. name: shown in messages. The job belongs to the compiler. Never blocks.
 */
rkb_compile_job_t *rkb_compiler_start(rkb_compiler_t *compiler, const char *name,
                                      const char *source, size_t len);
/** Descriptor that becomes readable when the job ends, or -1 when it has ended. */
int rkb_compile_job_fd(const rkb_compile_job_t *job);
/** Looks once, without blocking. */
rkb_compile_state_t rkb_compile_job_poll(rkb_compile_job_t *job);
/** Waits for the end (the job's own limit bounds it). */
rkb_compile_state_t rkb_compile_job_wait(rkb_compile_job_t *job);
const char *rkb_compile_job_path(const rkb_compile_job_t *job);
const char *rkb_compile_job_message(const rkb_compile_job_t *job); /* one sentence, no paths of ours */
const char *rkb_compile_job_log(const rkb_compile_job_t *job);     /* the compiler's output, capped at 64 KiB */
/** Of the build, told once: 0 when it came from the cache, and for later items that share the job. */
double rkb_compile_job_take_seconds(rkb_compile_job_t *job);
bool rkb_compile_job_cached(const rkb_compile_job_t *job);

#endif
