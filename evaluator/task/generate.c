/* Values of a tensor from its stream. */
#include "evaluator/task/task_internal.h"

#include "evaluator/task/random.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* The first 128 bits of a SHA-256 over the five names of the stream. */
static rkb_status_t open_stream(const rkb_instance_t *instance, const char *tensor, uint64_t seed,
                                unsigned trial, rkb_stream_t *out, rkb_error_t *err)
{
    char number[32], hex[RKB_SHA256_HEX_SIZE];
    rkb_sha256_t *hash;
    rkb_status_t status = rkb_sha256_create(&hash, err);
    if (status != RKB_OK)
        return status;
    snprintf(number, sizeof number, "%" PRIu64, seed);
    rkb_sha256_update_field(hash, number);
    rkb_sha256_update_field(hash, rkb_task_path(rkb_instance_task(instance)));
    rkb_sha256_update_field(hash, rkb_instance_config_name(instance));
    snprintf(number, sizeof number, "%u", trial);
    rkb_sha256_update_field(hash, number);
    rkb_sha256_update_field(hash, tensor);
    rkb_sha256_finish(hash, hex);
    rkb_sha256_destroy(hash);
    if (sscanf(hex, "%16" SCNx64 "%16" SCNx64, &out->key, &out->high) != 2)
        return rkb_error_set(err, RKB_ERR_INTERNAL, "SHA-256 is not hexadecimal");
    return RKB_OK;
}

/* Drawn numbers pass through a buffer of doubles on their way to the tensor's dtype. */
enum { CHUNK = 512 };

/* Elements `first` (even) and up to `count` of them, as doubles before rounding. */
static void draw(const rkb_init_t *init, const rkb_stream_t *stream, uint64_t first, size_t count,
                 double *out)
{
    uint64_t bits[CHUNK];
    double a = init->a, width = init->b - init->a;
    if (init->kind != RKB_INIT_CONSTANT)
        rkb_stream_fill(stream, first, count, bits);
    switch (init->kind) {
    case RKB_INIT_CONSTANT:
        for (size_t i = 0; i < count; i++)
            out[i] = a;
        break;
    case RKB_INIT_NORMAL:
        for (size_t i = 0; i < count; i++)
            out[i] = a + init->b * rkb_normal_quantile(rkb_bits_to_unit(bits[i]));
        break;
    case RKB_INIT_UNIFORM:
        for (size_t i = 0; i < count; i++)
            out[i] = a + width * rkb_bits_to_unit(bits[i]);
        break;
    case RKB_INIT_RANDINT:
        for (size_t i = 0; i < count; i++)
            out[i] = a + (double)rkb_bits_below(bits[i], (uint64_t)width);
        break;
    }
}

/* Bit pattern of a finite float one step nearer to minus infinity. */
static uint64_t step_down(uint64_t pattern, uint64_t sign)
{
    if (pattern & sign)
        return pattern + 1;
    return pattern == 0 ? sign | 1 : pattern - 1;
}

static double widen_bf16(uint16_t pattern)
{
    uint32_t bits = (uint32_t)pattern << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double widen_f16(uint16_t pattern)
{
    int exponent = pattern >> 10 & 31, fraction = pattern & 1023;
    double value = exponent == 0 ? fraction * 0x1p-24 : ldexp(1024 + fraction, exponent - 25);
    return pattern & 0x8000 ? -value : value;
}

/* Rounding may carry a uniform number up to its excluded end; then the number below is taken. */
#define STORE_FLOATS(type_, pattern_type_, convert_, widen_)                                       \
    do {                                                                                           \
        type_ *values = (type_ *)dst + first;                                                      \
        const pattern_type_ sign = (pattern_type_)1 << (8 * sizeof(pattern_type_) - 1);            \
        for (size_t i = 0; i < count; i++) {                                                       \
            type_ value = convert_(drawn[i]);                                                      \
            if (spec->init.kind == RKB_INIT_UNIFORM && !(widen_(value) < spec->init.b)) {          \
                pattern_type_ pattern;                                                             \
                memcpy(&pattern, &value, sizeof pattern);                                          \
                pattern = (pattern_type_)step_down(pattern, sign);                                 \
                memcpy(&value, &pattern, sizeof pattern);                                          \
            }                                                                                      \
            values[i] = value;                                                                     \
        }                                                                                          \
        return true;                                                                               \
    } while (0)

#define STORE_INTEGERS(type_)                                                                      \
    do {                                                                                           \
        type_ *values = (type_ *)dst + first;                                                      \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i] = (type_)(int64_t)drawn[i];                                                  \
        return true;                                                                               \
    } while (0)

/* false for a dtype that does not exist */
static bool store(const rkb_tensor_spec_t *spec, const double *drawn, uint64_t first, size_t count,
                  void *dst)
{
    switch (spec->dtype) {
    case RKB_F32:
        STORE_FLOATS(float, uint32_t, (float), (double));
    case RKB_F64:
        STORE_FLOATS(double, uint64_t, (double), (double));
    case RKB_F16:
        STORE_FLOATS(uint16_t, uint16_t, rkb_double_to_f16, widen_f16);
    case RKB_BF16:
        STORE_FLOATS(uint16_t, uint16_t, rkb_double_to_bf16, widen_bf16);
    case RKB_I64:
        STORE_INTEGERS(int64_t);
    case RKB_I32:
        STORE_INTEGERS(int32_t);
    case RKB_I16:
        STORE_INTEGERS(int16_t);
    case RKB_I8:
        STORE_INTEGERS(int8_t);
    case RKB_U8:
    case RKB_BOOL:
        STORE_INTEGERS(uint8_t);
    case RKB_DTYPE_NONE:
        break;
    }
    return false;
}

/* Threads share a tensor in pieces; which thread draws a piece changes no bit of it. */
enum { PIECE = 128 * CHUNK, MAX_THREADS = 16 };

typedef struct {
    const rkb_tensor_spec_t *spec;
    const rkb_stream_t *stream;
    void *dst;
    atomic_uint_fast64_t next; /* first element that nobody has taken */
    atomic_bool failed;
} share_t;

static void *work(void *argument)
{
    share_t *share = argument;
    uint64_t total = (uint64_t)share->spec->numel, piece;
    double drawn[CHUNK];
    while ((piece = atomic_fetch_add(&share->next, PIECE)) < total) {
        uint64_t end = total - piece < PIECE ? total : piece + PIECE;
        for (uint64_t first = piece; first < end; first += CHUNK) {
            size_t count = end - first < CHUNK ? (size_t)(end - first) : CHUNK;
            draw(&share->spec->init, share->stream, first, count, drawn);
            if (!store(share->spec, drawn, first, count, share->dst))
                atomic_store(&share->failed, true);
        }
    }
    return NULL;
}

/* Helpers that pay off: one per further piece, at most one per core that this process may use. */
static int helper_count(uint64_t total)
{
    cpu_set_t cores;
    uint64_t pieces = (total + PIECE - 1) / PIECE;
    int most = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    most = most < MAX_THREADS ? most : MAX_THREADS;
    return (int)(pieces < (uint64_t)most ? pieces : (uint64_t)most) - 1;
}

rkb_status_t rkb_instance_generate(const rkb_instance_t *instance, const rkb_tensor_spec_t *spec,
                                   uint64_t seed, unsigned trial, void *dst, rkb_error_t *err)
{
    pthread_t helpers[MAX_THREADS];
    rkb_stream_t stream;
    rkb_status_t status = open_stream(instance, spec->name, seed, trial, &stream, err);
    if (status != RKB_OK)
        return status;
    share_t share = {.spec = spec, .stream = &stream, .dst = dst};
    int wanted = helper_count((uint64_t)spec->numel), started = 0;
    while (started < wanted && pthread_create(&helpers[started], NULL, work, &share) == 0)
        started++; /* without helpers the caller does it all */
    work(&share);
    while (started > 0)
        pthread_join(helpers[--started], NULL);
    if (share.failed)
        return rkb_error_set(err, RKB_ERR_INTERNAL, "tensor \"%s\" has dtype %d", spec->name,
                             (int)spec->dtype);
    return RKB_OK;
}
