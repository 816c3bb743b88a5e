/**
 * @file jail.h
 * What a process may still do once it runs code that nobody should trust: compute. It may read
 * system libraries, rkb's plugins and its one shared object, start threads, and talk over
 * descriptor 3.
 *
 * Layers: no new privileges, no capabilities, resource limits, Landlock (files, TCP, signals to
 * others) and seccomp. A system call that no kernel library needs fails with EPERM. One that only
 * an attack needs (ptrace, sockets, fork, exec, signals to others, mounts, bpf, …) raises SIGSYS
 * and so ends the process; SIGSYS cannot be handled by anything loaded later.
 */
#ifndef RKB_CELL_JAIL_H
#define RKB_CELL_JAIL_H

#include "common/error.h"

#include <stdint.h>

typedef struct {
    const char *const *readable; /* files and folders, NULL-terminated; missing ones are skipped */
    uint64_t memory_bytes;       /* private memory (RLIMIT_DATA); 0: no limit */
} rkb_jail_params_t;

/** RKB_JAIL_* bits (protocol.h) that this kernel offers. */
unsigned rkb_jail_probe(void);
/**
 * Closes the jail around the calling process, which must have one thread. On success *bits are
 * those in force; a layer that the kernel offers but that could not be entered is an error.
 */
rkb_status_t rkb_jail_enter(const rkb_jail_params_t *params, unsigned *bits, rkb_error_t *err);

#endif
