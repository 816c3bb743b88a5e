/**
 * @file rkb_abi.h
 * The C ABI between a compiled candidate and the cell's runtime, and the value type that travels
 * between evaluator, cell, candidate and libtorch plugin. Plain C11 and C++17; no other rkb header
 * is needed, because candidates are compiled against it.
 *
 * Direction 1, runtime → candidate: a candidate is a shared object that exports
 *   `const rkb_module_t *rkb_candidate_module_v1(void)`.
 * Direction 2, candidate → runtime: the functions `rkb_rt_*` below, exported by rkb-cell.
 * Everything runs on one thread of the cell. No exception crosses this boundary: functions that can
 * fail return NULL or non-zero and leave their cause in rkb_rt_last_error().
 */
#ifndef RKB_ABI_H
#define RKB_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RKB_ABI_VERSION 1
enum { RKB_MAX_DIMS = 16 };

/** X(enum, name, bytes, torch ScalarType number) */
#define RKB_DTYPE_MAP(X)                                                                           \
    X(U8, "uint8", 1, 0)                                                                           \
    X(I8, "int8", 1, 1)                                                                            \
    X(I16, "int16", 2, 2)                                                                          \
    X(I32, "int32", 4, 3)                                                                          \
    X(I64, "int64", 8, 4)                                                                          \
    X(F16, "float16", 2, 5)                                                                        \
    X(F32, "float32", 4, 6)                                                                        \
    X(F64, "float64", 8, 7)                                                                        \
    X(BOOL, "bool", 1, 11)                                                                         \
    X(BF16, "bfloat16", 2, 15)

typedef enum {
#define RKB_DTYPE_ENUM(_e, _name, _size, _torch) RKB_##_e = _torch,
    RKB_DTYPE_MAP(RKB_DTYPE_ENUM)
#undef RKB_DTYPE_ENUM
        RKB_DTYPE_NONE = -1
} rkb_dtype_t;

typedef enum { RKB_DEVICE_CPU = 0, RKB_DEVICE_CUDA = 1 } rkb_device_kind_t;

/** Memory that tensors share; freed with the last reference. Opaque to candidates. */
typedef struct rkb_storage rkb_storage_t;

/**
 * A strided tensor. Reference counted by rkb_rt_tensor_retain/release. `data` already includes the
 * storage offset. Sizes and strides count elements. Candidates read the fields directly and never
 * write them.
 */
typedef struct rkb_tensor {
    void *data;
    rkb_storage_t *storage;
    int64_t refs;
    int32_t dtype;  /* rkb_dtype_t */
    int32_t device; /* rkb_device_kind_t: what the candidate is told (CUDA for lent tensors) */
    int32_t device_index;
    int32_t ndim;
    int32_t requires_grad;
    int32_t reserved;
    int64_t numel;
    int64_t sizes[RKB_MAX_DIMS];
    int64_t strides[RKB_MAX_DIMS];
} rkb_tensor_t;

typedef enum {
    RKB_VALUE_NONE,
    RKB_VALUE_TENSOR,      /* .tensor (one reference owned by the value); NULL: undefined tensor */
    RKB_VALUE_INT,         /* .i */
    RKB_VALUE_DOUBLE,      /* .d */
    RKB_VALUE_BOOL,        /* .i, 0 or 1 */
    RKB_VALUE_STRING,      /* .s, malloc'ed */
    RKB_VALUE_INT_LIST,    /* .ints, .count, malloc'ed */
    RKB_VALUE_DOUBLE_LIST, /* .doubles, .count */
    RKB_VALUE_BOOL_LIST,   /* .ints, .count */
    RKB_VALUE_TENSOR_LIST, /* .tensors, .count; NULL elements are None */
    RKB_VALUE_DTYPE,       /* .i, an rkb_dtype_t */
    RKB_VALUE_LIST         /* .list, .count: a Python tuple or list of anything */
} rkb_value_kind_t;

typedef struct rkb_value {
    rkb_value_kind_t kind;
    size_t count;
    union {
        rkb_tensor_t *tensor;
        int64_t i;
        double d;
        char *s;
        int64_t *ints;
        double *doubles;
        rkb_tensor_t **tensors;
        struct rkb_value *list;
    };
} rkb_value_t;

/* ---- candidate → evaluator ------------------------------------------------------------------ */

typedef enum {
    RKB_CALL_OK = 0,
    RKB_CALL_BAD_SIGNATURE, /* number or type of arguments does not fit */
    RKB_CALL_EXCEPTION,     /* the candidate threw */
    RKB_CALL_UNSUPPORTED    /* it asked for something that this device or runtime lacks */
} rkb_call_status_t;

/**
 * Calls one bound function. Arguments are borrowed. On RKB_CALL_OK *result holds the return value:
 * NONE for void, TENSOR, or LIST/TENSOR_LIST for vectors, tuples and pairs; the caller releases it.
 * Otherwise `error` (of `error_size` bytes) holds the cause.
 */
typedef rkb_call_status_t (*rkb_entry_fn_t)(void *self, const rkb_value_t *args, size_t nargs,
                                            rkb_value_t *result, char *error, size_t error_size);

typedef struct {
    const char *name;      /* as given to m.def */
    const char *signature; /* readable C++ types, for messages: "(Tensor, Tensor, float) -> Tensor" */
    rkb_entry_fn_t call;
    void *self;
} rkb_entry_t;

typedef struct {
    uint32_t abi; /* RKB_ABI_VERSION the candidate was compiled with */
    uint32_t count;
    const rkb_entry_t *entries;
    const char *error; /* the module's body threw: its message; else NULL */
} rkb_module_t;

typedef const rkb_module_t *(*rkb_module_fn_t)(void);
#define RKB_MODULE_SYMBOL "rkb_candidate_module_v1"

/* ---- runtime: values and tensors ------------------------------------------------------------ */

/** Message of the last failing rkb_rt_* call. */
const char *rkb_rt_last_error(void);

void rkb_rt_value_release(rkb_value_t *value); /* frees what the value owns; kind becomes NONE */

size_t rkb_rt_dtype_size(int32_t dtype); /* 0 for an unknown dtype */
const char *rkb_rt_dtype_name(int32_t dtype);

void rkb_rt_tensor_retain(rkb_tensor_t *tensor); /* NULL allowed */
void rkb_rt_tensor_release(rkb_tensor_t *tensor);

/**
 * A new contiguous tensor, poisoned with a NaN pattern: in device memory (device == CUDA), fenced by
 * guard bands, or in host memory (device == CPU). NULL when memory is short or the shape is invalid.
 */
rkb_tensor_t *rkb_rt_tensor_empty(const int64_t *sizes, int32_t ndim, int32_t dtype, int32_t device);
/** A view that shares storage: any sizes and strides that stay inside the storage. */
rkb_tensor_t *rkb_rt_tensor_as_strided(rkb_tensor_t *base, const int64_t *sizes,
                                       const int64_t *strides, int32_t ndim, void *data);
/** Wraps foreign memory; `deleter(context)` (may be NULL) runs with the last reference. */
rkb_tensor_t *rkb_rt_tensor_from_blob(void *data, const int64_t *sizes, const int64_t *strides,
                                      int32_t ndim, int32_t dtype, int32_t device,
                                      void (*deleter)(void *), void *context);
/** Start and size in bytes of the memory that a tensor shares. */
void rkb_rt_tensor_storage(const rkb_tensor_t *tensor, void **base, size_t *bytes);
/** Element-wise copy with dtype conversion and broadcasting of src to dst. 0 on success. */
int rkb_rt_tensor_copy(rkb_tensor_t *dst, const rkb_tensor_t *src);
/** Fills with a scalar, converted to the tensor's dtype. 0 on success. */
int rkb_rt_tensor_fill(rkb_tensor_t *tensor, double value, int64_t ivalue);

/**
 * A libtorch operator by schema name ("aten::sum.dim_IntList"), through the dispatcher; libtorch is
 * loaded at the first call. Trailing arguments with defaults may be left out. The results array
 * holds *nresults values on return (capacity given on entry). The name is recorded as delegated.
 * 0 on success; RKB_RT_UNSUPPORTED when libtorch or the operator is not there; else -1.
 */
enum { RKB_RT_UNSUPPORTED = -2 };
int rkb_rt_call_operator(const char *name, const rkb_value_t *args, size_t nargs,
                         rkb_value_t *results, size_t *nresults);

/* ---- runtime: bound functions --------------------------------------------------------------- */

typedef struct {
    const char *name;            /* NULL: not given */
    const char *type;            /* as a caller sees it: "Tensor", "float" */
    const rkb_value_t *fallback; /* default; NULL: none */
} rkb_param_t;

/** One bound C++ function. It and what it points to live as long as the module. */
typedef struct rkb_function {
    const rkb_param_t *params;
    uint32_t nparams;
    uint32_t nfixed; /* the parameters after these take one LIST with all further arguments */
    const char *result; /* readable type */
    /**
     * Converts and calls; values[i] belongs to params[i]. RKB_CALL_BAD_SIGNATURE sets *bad to the
     * first argument that does not fit; other failures set `error`.
     */
    rkb_call_status_t (*invoke)(struct rkb_function *self, const rkb_value_t *const *values,
                                rkb_value_t *result, uint32_t *bad, char *error,
                                size_t error_size);
    struct rkb_function *next; /* overload of the same name; set by rkb_rt_module_add() */
} rkb_function_t;

/**
 * Appends to module->entries, or to the overloads of an entry of that name; entries are called with
 * the checks and messages of a Python call. 0 on success.
 */
int rkb_rt_module_add(rkb_module_t *module, const char *name, rkb_function_t *function);

/** Deep copy that owns what it holds; every list kind becomes LIST. 0 on success. */
int rkb_rt_value_copy(rkb_value_t *to, const rkb_value_t *from);
/** Makes a LIST of `count` Nones. 0 on success. */
int rkb_rt_value_list(rkb_value_t *to, size_t count);
/** Element i of any list kind, borrowed; NONE past the end. */
rkb_value_t rkb_rt_value_item(const rkb_value_t *list, size_t i);
/** "float 0.1", "Tensor of float32 [2, 3]", for messages. */
void rkb_rt_value_describe(const rkb_value_t *value, char *text, size_t size);

/* ---- runtime: CUDA memory and launches on the CPU device ------------------------------------- */

typedef struct {
    uint32_t x, y, z;
} rkb_dim3_t;

/** Device memory as by cudaMalloc: poisoned, fenced, from the lent arena. NULL: out of memory. */
void *rkb_rt_device_alloc(size_t bytes);
/** 0 on success, else the pointer was not allocated by rkb_rt_device_alloc(). */
int rkb_rt_device_free(void *pointer);

/** Built-in variables of the CUDA thread that runs now. */
typedef struct {
    rkb_dim3_t thread, block, block_dim, grid_dim;
} rkb_thread_t;
extern rkb_thread_t rkb_rt_thread;

/** Base of dynamic shared memory: one fixed address, 128-byte aligned, RKB_SHARED_MAX bytes. */
enum { RKB_SHARED_DEFAULT = 48 * 1024, RKB_SHARED_MAX = 227 * 1024 };
extern unsigned char rkb_rt_dynamic_shared[];
/** A different number for every block of every launch: tells when a variable is entered anew. */
extern uint64_t rkb_rt_block_serial;
/** First use of a static __shared__ variable in a block: counts its bytes, fills it with poison. */
void rkb_rt_shared_enter(void *variable, size_t bytes);

/**
 * Runs `body(context)` once for every thread of every block of the grid. Threads of a block are
 * fibers; blocks run one after another. Returns a cudaError_t number (0: success;
 * 9: invalid configuration; 1: invalid value) and remembers it like the CUDA runtime does.
 */
int rkb_rt_launch(const char *name, rkb_dim3_t grid, rkb_dim3_t block, size_t shared_bytes,
                  void (*body)(void *), void *context);

/** A launch that the header itself refuses (limits of one kernel): recorded as by rkb_rt_launch(). */
int rkb_rt_refuse_launch(const char *name, int error);

/** cudaGetLastError (reset != 0) and cudaPeekAtLastError. */
int rkb_rt_last_cuda_error(int reset);
void rkb_rt_set_cuda_error(int error);

/** __syncthreads(). */
void rkb_rt_barrier(void);
/** __syncthreads_count/and/or: returns the number of threads whose predicate was non-zero. */
int rkb_rt_barrier_count(int predicate);
/** __syncwarp(). */
void rkb_rt_warp_sync(uint32_t mask);
/**
 * Warp exchange: every lane named in `mask` deposits `bytes` (at most 16) and, once all have come,
 * reads the value of lane `source` (0..31) into `out`. A lane that does not take part (outside the
 * mask, ended, or never existed) reads as zeros, which CUDA leaves undefined and an H200 was seen to
 * give. Basis of all shuffles.
 */
void rkb_rt_warp_exchange(uint32_t mask, const void *in, void *out, size_t bytes, int source);
/** __ballot_sync. */
uint32_t rkb_rt_warp_ballot(uint32_t mask, int predicate);
/** __activemask: lanes of this warp that have not ended. Never zero. */
uint32_t rkb_rt_warp_active(void);
int rkb_rt_lane(void);
/** Lets the other threads of the block run (__nanosleep). */
void rkb_rt_yield(void);
/** For code that this device cannot run (inline PTX, …): ends the item as `unsupported`. */
void rkb_rt_unsupported(const char *what) __attribute__((noreturn));
/** __trap, a failed device assert: ends the item as `launch_failure`. */
void rkb_rt_trap(const char *what) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif
