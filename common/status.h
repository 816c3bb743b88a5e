/**
 * @file status.h
 * One status enum for the whole program: name, text and process exit code come from one table.
 * Exit codes: DESIGN section 10.
 */
#ifndef RKB_COMMON_STATUS_H
#define RKB_COMMON_STATUS_H

/* X(name, exit code, text) */
#define RKB_STATUS_MAP(X)                                                                          \
    X(OK, 0, "success")                                                                            \
    X(ERR_USAGE, 2, "usage error")                                                                 \
    X(ERR_INVALID, 2, "invalid input")                                                             \
    X(ERR_NOT_FOUND, 2, "not found")                                                               \
    X(ERR_EXISTS, 2, "already exists")                                                             \
    X(ERR_NO_DEVICE, 3, "no usable device")                                                        \
    X(ERR_IO, 4, "input/output error")                                                             \
    X(ERR_NO_MEMORY, 4, "out of memory")                                                           \
    X(ERR_PROTOCOL, 4, "protocol error")                                                           \
    X(ERR_TIMEOUT, 4, "time limit exceeded")                                                       \
    X(ERR_LOST, 4, "process lost")                                                                 \
    X(ERR_UNSUPPORTED, 4, "not supported")                                                         \
    X(ERR_INTERNAL, 4, "internal error")                                                           \
    X(ERR_DRAINED, 75, "drained; resume to continue")

typedef enum {
#define RKB_STATUS_ENUM(_name, _exit, _text) RKB_##_name,
    RKB_STATUS_MAP(RKB_STATUS_ENUM)
#undef RKB_STATUS_ENUM
        RKB_STATUS_LAST
} rkb_status_t;

/** "ERR_IO"; "UNKNOWN" for a value outside the enum. */
const char *rkb_status_name(rkb_status_t status);
/** "input/output error" */
const char *rkb_status_text(rkb_status_t status);
/** Exit code of a process that ends with this status; 4 for a value outside the enum. */
int rkb_status_exit_code(rkb_status_t status);
/** Inverse of rkb_status_name(); RKB_ERR_INTERNAL for an unknown name. */
rkb_status_t rkb_status_from_name(const char *name);

#endif
