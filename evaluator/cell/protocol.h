/**
 * @file protocol.h
 * The binary protocol between evaluator and cell (SOCK_SEQPACKET: one message, one packet), and the
 * status page that they share. Everything that comes from a cell is untrusted: the evaluator checks
 * every count, offset and string, and uses none of it as a verdict, only as a description of a
 * failure. docs/protocol.md tells the same in words.
 *
 * Descriptors of a cell at start: 3 the socket, 4 the status page (memfd). The descriptors of
 * the arena (memfd) and of the shared object travel with the load message (SCM_RIGHTS): a spare
 * cell can wait for any item, and what is loaded is the file that the evaluator opened, whatever
 * happens to its name in the cache.
 */
#ifndef RKB_CELL_PROTOCOL_H
#define RKB_CELL_PROTOCOL_H

#include "evaluator/kernel_api/rkb_abi.h"

#include <stdint.h>

#define RKB_CELL_MAGIC 0x6c6c6563u /* "cell" */
#define RKB_CELL_VERSION 1u

enum {
    RKB_CELL_FD_SOCKET = 3,
    RKB_CELL_FD_STATUS = 4,
    RKB_CELL_LOAD_FDS = 2, /* arena, shared object */
    RKB_CELL_MAX_ARGS = 64,
    RKB_CELL_MAX_OUTPUTS = 64,
    RKB_CELL_MAX_ALLOCS = 256,
    RKB_CELL_TEXT = 1024,
    RKB_CELL_NAME = 128,
    RKB_CELL_MAX_LIST = 64
};

typedef enum {
    RKB_CELL_HELLO = 1, /* cell → evaluator, first message */
    RKB_CELL_LOAD,      /* evaluator → cell */
    RKB_CELL_LOADED,
    RKB_CELL_CALL, /* evaluator → cell */
    RKB_CELL_RETURNED,
    RKB_CELL_JAILED /* cell → evaluator, between LOAD and LOADED */
} rkb_cell_type_t;

typedef struct {
    uint32_t magic, version, type, bytes; /* bytes: of the whole message */
} rkb_cell_header_t;

typedef struct {
    rkb_cell_header_t header;
    uint32_t abi;  /* RKB_ABI_VERSION of the runtime */
    uint32_t jail; /* RKB_JAIL_* bits that this kernel offers */
} rkb_cell_hello_t;

enum { RKB_JAIL_SECCOMP = 1, RKB_JAIL_LANDLOCK = 2 };

typedef struct {
    rkb_cell_header_t header;
    char entry[RKB_CELL_NAME]; /* "forward" */
    uint64_t arena_bytes;      /* to map of the first descriptor that comes with this message */
    uint64_t memory_bytes;     /* of private memory (RLIMIT_DATA) */
} rkb_cell_load_t;

/**
 * Sent when the jail is closed and before any byte of the candidate is mapped: the last message
 * that can be believed. A failure here is ours, not the candidate's.
 */
typedef struct {
    rkb_cell_header_t header;
    uint32_t jail;            /* RKB_JAIL_* bits in force */
    char text[RKB_CELL_TEXT]; /* why it could not be closed; "" when it was */
} rkb_cell_jailed_t;

typedef enum {
    RKB_LOADED_OK,
    RKB_LOADED_LOAD_ERROR, /* dlopen or module body failed */
    RKB_LOADED_NO_ENTRY    /* text lists what it binds */
} rkb_loaded_status_t;

typedef struct {
    rkb_cell_header_t header;
    uint32_t status; /* rkb_loaded_status_t */
    char text[RKB_CELL_TEXT];
} rkb_cell_loaded_t;

/** A tensor inside the arena. */
typedef struct {
    uint64_t offset;
    int32_t dtype, ndim;
    int64_t sizes[RKB_MAX_DIMS];
    int64_t strides[RKB_MAX_DIMS];
} rkb_cell_tensor_t;

typedef struct {
    uint32_t kind; /* rkb_value_kind_t: TENSOR, INT, DOUBLE, BOOL, INT_LIST or NONE */
    uint32_t count;
    union {
        rkb_cell_tensor_t tensor;
        int64_t i;
        double d;
        int64_t ints[RKB_CELL_MAX_LIST];
    };
} rkb_cell_argument_t;

typedef struct {
    rkb_cell_header_t header;
    uint64_t heap_offset; /* the cell allocates in [heap_offset, heap_offset + heap_bytes) */
    uint64_t heap_bytes;
    uint64_t seed;   /* of block order and the like: differs between the calls of a trial */
    uint32_t poison; /* 32-bit pattern of fresh memory */
    uint32_t nargs;
    rkb_cell_argument_t args[RKB_CELL_MAX_ARGS];
} rkb_cell_call_t;

/** One device allocation of the call, for the guard check: [offset, offset + bytes) may be written.
 */
typedef struct {
    uint64_t offset, bytes;
} rkb_cell_alloc_t;

typedef struct {
    rkb_cell_header_t header;
    uint32_t status;    /* rkb_call_status_t */
    int32_t cuda_error; /* first error of a launch in this call, cudaError_t; 0: none */
    uint32_t noutputs;  /* RKB_CELL_MAX_OUTPUTS + 1: more than fit */
    uint32_t nallocs;   /* RKB_CELL_MAX_ALLOCS + 1: more than fit; the rest is unchecked */
    uint64_t heap_used; /* high-water mark, relative to heap_offset */
    uint32_t launches;
    uint32_t ndelegated;
    char kernel[RKB_CELL_NAME];                      /* that cuda_error belongs to */
    char text[RKB_CELL_TEXT];                        /* exception or signature message */
    char delegated[8][RKB_CELL_NAME];                /* first names */
    uint32_t output_is_tensor[RKB_CELL_MAX_OUTPUTS]; /* 0: something else was returned there */
    uint32_t output_in_arena[RKB_CELL_MAX_OUTPUTS];  /* 0: host tensor or foreign memory */
    rkb_cell_tensor_t outputs[RKB_CELL_MAX_OUTPUTS];
    rkb_cell_alloc_t allocs[RKB_CELL_MAX_ALLOCS];
} rkb_cell_returned_t;

/** What the cell is doing, for the description of a crash or hang. Written by it, read when it
 * died. */
typedef enum {
    RKB_PHASE_START,
    RKB_PHASE_LOAD,   /* dlopen, static constructors, module body */
    RKB_PHASE_HOST,   /* in the candidate's host function */
    RKB_PHASE_KERNEL, /* in a CUDA thread */
    RKB_PHASE_IDLE
} rkb_cell_phase_t;

typedef struct {
    uint32_t phase;
    uint32_t trap; /* 1: rkb_rt_trap, 2: rkb_rt_unsupported, 3: barrier deadlock */
    char kernel[RKB_CELL_NAME];
    char text[RKB_CELL_TEXT];
    rkb_dim3_t block, thread;
    int32_t signal;         /* fatal signal, when a handler saw it */
    uint64_t fault_address; /* SIGSYS: the number of the forbidden system call */
} rkb_cell_status_t;

#endif
