/**
 * @file hostile.h
 * A candidate with one entry for each way to misbehave, and some that behave. Entries that try what
 * the jail must refuse throw "denied N" (N: errno), "failed N" or "ALLOWED".
 */
#ifndef RKB_TESTS_HOSTILE_H
#define RKB_TESTS_HOSTILE_H

#include "evaluator/cell/protocol.h"

typedef struct {
    const rkb_value_t *args;
    size_t nargs;
    rkb_value_t *result;
    char *error;
    size_t error_size;
} frame_t;

#define DEEDS(X)                                                                                   \
    X(twice)                                                                                       \
    X(with_thread)                                                                                 \
    X(pair)                                                                                        \
    X(nothing)                                                                                     \
    X(scalars)                                                                                     \
    X(opens_torch)                                                                                 \
    X(delegates)                                                                                   \
    X(overrun)                                                                                     \
    X(too_much_device_memory)                                                                      \
    X(throws)                                                                                      \
    X(odd_status)                                                                                  \
    X(segfault)                                                                                    \
    X(kernel_segfault)                                                                             \
    X(kernel_hang)                                                                                 \
    X(kernel_trap)                                                                                 \
    X(kernel_division)                                                                             \
    X(kernel_smash)                                                                                \
    X(kernel_unsupported)                                                                          \
    X(bad_launch)                                                                                  \
    X(aborts)                                                                                      \
    X(exits)                                                                                       \
    X(hangs)                                                                                       \
    X(overflows_stack)                                                                             \
    X(kills_itself)                                                                                \
    X(eats_memory)                                                                                 \
    X(crashes_later)                                                                               \
    X(forks)                                                                                       \
    X(executes)                                                                                    \
    X(kills_parent)                                                                                \
    X(kills_group)                                                                                 \
    X(traces_parent)                                                                               \
    X(reads_parent)                                                                                \
    X(opens_socket)                                                                                \
    X(masks_sigsys)                                                                                \
    X(starts_namespace)                                                                            \
    X(opens_parent_memory)                                                                         \
    X(opens_local_socket)                                                                          \
    X(lists_proc)                                                                                  \
    X(reads_passwd)                                                                                \
    X(creates_file)                                                                                \
    X(writes_null)                                                                                 \
    X(removes_file)                                                                                \
    X(makes_folder)                                                                                \
    X(changes_mode)                                                                                \
    X(makes_memfd)                                                                                 \
    X(outlives_parent)                                                                             \
    X(leaves_group)                                                                                \
    X(raises_limit)                                                                                \
    X(forges)                                                                                      \
    X(forges_enormous)                                                                             \
    X(forges_outside)                                                                              \
    X(floods)                                                                                      \
    X(closes_everything)                                                                           \
    X(closes_and_returns)                                                                          \
    X(scribbles)                                                                                   \
    X(exits_like_runtime)

#define DEED_PROTOTYPE(_name) rkb_call_status_t deed_##_name(frame_t *f);
DEEDS(DEED_PROTOTYPE)
#undef DEED_PROTOTYPE

rkb_call_status_t hostile_throw(frame_t *f, const char *text);
/** Starts a kernel named hostile_kernel of 2 blocks of 4 threads. */
void hostile_launch(void (*body)(void *));
void hostile_calm_body(void *context);
/** An address that nothing may touch. */
extern volatile int *volatile hostile_nowhere;

#endif
