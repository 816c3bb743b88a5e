/**
 * Calibration of the ratio rule: simulates float32 kernels as people write them, and kernels that
 * compute in lower precision, against a simulated libtorch and a float64 oracle. Prints the table
 * of docs/judging.md; fails when an honest kernel is refused or a visible lower precision passes.
 */
#include "evaluator/verify/verify.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 5, MAX_SEEDS = 32 };

static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = random_state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static double random_uniform(void)
{
    return ((double)(random_next() >> 11) + 0.5) * 0x1p-53;
}

static float random_normal(void)
{
    return (float)(sqrt(-2 * log(random_uniform())) * cos(6.283185307179586 * random_uniform()));
}

/* ---- arithmetic of a kernel ---- */

typedef enum {
    SUM_TORCH,  /* vector lanes, unrolled, in blocks of 384 */
    SUM_PLAIN,  /* one thread, product and sum rounded apart */
    SUM_FMA,    /* one thread */
    SUM_PAIRS,  /* recursive halving */
    SUM_WARP,   /* 32 lanes, then shuffles */
    SUM_BLOCK,  /* 256 lanes, then a tree */
    SUM_ATOMIC, /* chunks of 64, added in random order */
    SUM_HALF    /* float16 accumulator: not honest */
} sum_kind_t;

typedef enum { ROUND_NONE, ROUND_TF32, ROUND_F16, ROUND_BF16 } round_kind_t;

static float round_digits(float x, int drop)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t odd = bits >> drop & 1;
    bits = (bits + (1u << (drop - 1)) - 1 + odd) >> drop << drop;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float round_to(float x, round_kind_t kind)
{
    switch (kind) {
    case ROUND_TF32:
        return round_digits(x, 13);
    case ROUND_F16: /* gradual underflow below 2^-14 */
        return fabsf(x) < 0x1p-14f ? (float)(nearbyint((double)x * 0x1p24) * 0x1p-24)
                                   : round_digits(x, 13);
    case ROUND_BF16:
        return round_digits(x, 16);
    case ROUND_NONE:
        break;
    }
    return x;
}

static float tree(float *lanes, int n)
{
    for (int step = n / 2; step > 0; step /= 2)
        for (int i = 0; i < step; i++)
            lanes[i] += lanes[i + step];
    return lanes[0];
}

static float dot_lanes(const float *a, const float *b, int n, int count)
{
    float lanes[256] = {0};
    for (int i = 0; i < n; i++)
        lanes[i % count] = fmaf(a[i], b ? b[i] : 1, lanes[i % count]);
    return tree(lanes, count);
}

static float dot_pairs(const float *a, const float *b, int n)
{
    if (n <= 8) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += a[i] * (b ? b[i] : 1);
        return sum;
    }
    int half = n / 2;
    return dot_pairs(a, b, half) + dot_pairs(a + half, b ? b + half : NULL, n - half);
}

/* a · b, or the sum of a when b is NULL */
static float dot(const float *a, const float *b, int n, sum_kind_t kind)
{
    float sum = 0;
    switch (kind) {
    case SUM_TORCH:
        for (int at = 0; at < n; at += 384)
            sum += dot_lanes(a + at, b ? b + at : NULL, n - at < 384 ? n - at : 384, 32);
        return sum;
    case SUM_PLAIN:
        for (int i = 0; i < n; i++)
            sum += a[i] * (b ? b[i] : 1);
        return sum;
    case SUM_FMA:
        for (int i = 0; i < n; i++)
            sum = fmaf(a[i], b ? b[i] : 1, sum);
        return sum;
    case SUM_PAIRS:
        return dot_pairs(a, b, n);
    case SUM_WARP:
        return dot_lanes(a, b, n, 32);
    case SUM_BLOCK:
        return dot_lanes(a, b, n, 256);
    case SUM_ATOMIC: {
        int chunks = (n + 63) / 64, start = (int)(random_next() % (uint64_t)chunks);
        int stride = chunks > 2 ? 2 * (int)(random_next() % (uint64_t)(chunks / 2)) + 1 : 1;
        while (chunks % stride == 0 && stride > 1)
            stride -= 2; /* a stride prime enough to visit every chunk is checked below */
        bool *seen = calloc((size_t)chunks, 1);
        for (int k = 0, at = start; k < chunks; k++, at = (at + stride) % chunks) {
            while (seen[at])
                at = (at + 1) % chunks;
            seen[at] = true;
            int first = at * 64, count = n - first < 64 ? n - first : 64;
            sum += dot(a + first, b ? b + first : NULL, count, SUM_FMA);
        }
        free(seen);
        return sum;
    }
    case SUM_HALF:
        for (int i = 0; i < n; i++)
            sum = round_to(sum + a[i] * (b ? b[i] : 1), ROUND_F16);
        return sum;
    }
    return sum;
}

/* A result that is off by up to `ulps` units in the last place, as device intrinsics are. */
static float blur(float x, int ulps)
{
    for (int k = (int)(random_next() % (uint64_t)(ulps + 1)); k > 0; k--)
        x = nextafterf(x, random_next() & 1 ? INFINITY : -INFINITY);
    return x;
}

/* ---- kernels ---- */

typedef enum { VARIANCE_TWO_PASS, VARIANCE_WELFORD, VARIANCE_ONE_PASS } variance_kind_t;

typedef struct {
    const char *name;
    bool honest;
    sum_kind_t sum;
    round_kind_t inputs, output;
    variance_kind_t variance;
    int ulps; /* of exp, log, rsqrt and division */
    bool half_exp;
} kernel_t;

typedef struct {
    int rows, n, columns; /* of the program's own shapes */
    float *x, *w, *b;
    int *target;
    double mean; /* of x */
} data_t;

typedef struct {
    const char *name;
    int sizes[6][3]; /* rows, n, columns; zeros end */
    void (*kernel)(const data_t *, const kernel_t *, float *);
    void (*oracle)(const data_t *, double *);
    int (*outputs)(const data_t *);
} program_t;

static int linear_outputs(const data_t *d)
{
    return d->rows * d->columns;
}

static void linear_kernel(const data_t *d, const kernel_t *k, float *y)
{
    for (int r = 0; r < d->rows; r++)
        for (int c = 0; c < d->columns; c++)
            y[r * d->columns + c] =
                round_to(dot(d->x + r * d->n, d->w + c * d->n, d->n, k->sum) + d->b[c], k->output);
}

static void linear_oracle(const data_t *d, double *y)
{
    for (int r = 0; r < d->rows; r++) {
        for (int c = 0; c < d->columns; c++) {
            double sum = 0;
            for (int i = 0; i < d->n; i++)
                sum += (double)d->x[r * d->n + i] * (double)d->w[c * d->n + i];
            y[r * d->columns + c] = sum + (double)d->b[c];
        }
    }
}

static int row_outputs(const data_t *d)
{
    return d->rows * d->n;
}

static void moments(const float *x, int n, const kernel_t *k, float *mean, float *variance)
{
    if (k->variance == VARIANCE_WELFORD) {
        float m = 0, m2 = 0;
        for (int i = 0; i < n; i++) {
            float delta = x[i] - m;
            m += delta / (float)(i + 1);
            m2 += delta * (x[i] - m);
        }
        *mean = m;
        *variance = m2 / (float)n;
        return;
    }
    *mean = dot(x, NULL, n, k->sum) / (float)n;
    if (k->variance == VARIANCE_ONE_PASS) {
        *variance = dot(x, x, n, k->sum) / (float)n - *mean * *mean;
        return;
    }
    float *centred = malloc((size_t)n * sizeof *centred);
    for (int i = 0; i < n; i++)
        centred[i] = x[i] - *mean;
    *variance = dot(centred, centred, n, k->sum) / (float)n;
    free(centred);
}

static void layernorm_kernel(const data_t *d, const kernel_t *k, float *y)
{
    for (int r = 0; r < d->rows; r++) {
        const float *x = d->x + r * d->n;
        float mean, variance;
        moments(x, d->n, k, &mean, &variance);
        float scale = blur(1 / sqrtf(variance + 1e-5f), k->ulps);
        for (int i = 0; i < d->n; i++)
            y[r * d->n + i] = round_to((x[i] - mean) * scale * d->w[i] + d->b[i], k->output);
    }
}

static void layernorm_oracle(const data_t *d, double *y)
{
    for (int r = 0; r < d->rows; r++) {
        const float *x = d->x + r * d->n;
        double mean = 0, variance = 0;
        for (int i = 0; i < d->n; i++)
            mean += (double)x[i] / d->n;
        for (int i = 0; i < d->n; i++)
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / d->n;
        for (int i = 0; i < d->n; i++)
            y[r * d->n + i] =
                ((double)x[i] - mean) / sqrt(variance + 1e-5) * (double)d->w[i] + (double)d->b[i];
    }
}

static void rmsnorm_kernel(const data_t *d, const kernel_t *k, float *y)
{
    for (int r = 0; r < d->rows; r++) {
        const float *x = d->x + r * d->n;
        float scale = blur(1 / sqrtf(dot(x, x, d->n, k->sum) / (float)d->n + 1e-8f), k->ulps);
        for (int i = 0; i < d->n; i++)
            y[r * d->n + i] = round_to(x[i] * scale * d->w[i], k->output);
    }
}

static void rmsnorm_oracle(const data_t *d, double *y)
{
    for (int r = 0; r < d->rows; r++) {
        const float *x = d->x + r * d->n;
        double square = 0;
        for (int i = 0; i < d->n; i++)
            square += (double)x[i] * (double)x[i] / d->n;
        for (int i = 0; i < d->n; i++)
            y[r * d->n + i] = (double)x[i] / sqrt(square + 1e-8) * (double)d->w[i];
    }
}

static int scalar_outputs(const data_t *d)
{
    (void)d;
    return 1;
}

static void entropy_kernel(const data_t *d, const kernel_t *k, float *y)
{
    float *losses = malloc((size_t)d->rows * sizeof *losses);
    float *terms = malloc((size_t)d->n * sizeof *terms);
    for (int r = 0; r < d->rows; r++) {
        const float *x = d->x + r * d->n;
        float largest = x[0];
        for (int i = 1; i < d->n; i++)
            largest = fmaxf(largest, x[i]);
        for (int i = 0; i < d->n; i++)
            terms[i] =
                round_to(blur(expf(x[i] - largest), k->ulps), k->half_exp ? ROUND_F16 : ROUND_NONE);
        float sum = dot(terms, NULL, d->n, k->sum);
        losses[r] = blur(logf(sum), k->ulps) + largest - x[d->target[r]];
    }
    *y = round_to(dot(losses, NULL, d->rows, k->sum) / (float)d->rows, k->output);
    free(losses);
    free(terms);
}

static void entropy_oracle(const data_t *d, double *y)
{
    *y = 0;
    for (int r = 0; r < d->rows; r++) {
        const float *x = d->x + r * d->n;
        double sum = 0;
        for (int i = 0; i < d->n; i++)
            sum += exp((double)x[i]);
        *y += (log(sum) - (double)x[d->target[r]]) / d->rows;
    }
}

static void mse_kernel(const data_t *d, const kernel_t *k, float *y)
{
    float *difference = malloc((size_t)d->n * sizeof *difference);
    for (int i = 0; i < d->n; i++)
        difference[i] = d->x[i] - d->w[i];
    *y = round_to(dot(difference, difference, d->n, k->sum) / (float)d->n, k->output);
    free(difference);
}

static void mse_oracle(const data_t *d, double *y)
{
    *y = 0;
    for (int i = 0; i < d->n; i++)
        *y += ((double)d->x[i] - (double)d->w[i]) * ((double)d->x[i] - (double)d->w[i]) / d->n;
}

static const program_t programs[] = {
    {"linear",
     {{64, 128, 10}, {16, 1024, 16}, {8, 4096, 16}, {4, 16384, 8}, {2, 65536, 4}},
     linear_kernel,
     linear_oracle,
     linear_outputs},
    {"layernorm",
     {{8, 256, 1}, {4, 4096, 1}, {1, 65536, 1}},
     layernorm_kernel,
     layernorm_oracle,
     row_outputs},
    {"rmsnorm",
     {{8, 256, 1}, {4, 4096, 1}, {1, 65536, 1}},
     rmsnorm_kernel,
     rmsnorm_oracle,
     row_outputs},
    {"cross_entropy",
     {{64, 10, 1}, {64, 100, 1}, {256, 100, 1}, {1024, 10, 1}, {4096, 100, 1}},
     entropy_kernel,
     entropy_oracle,
     scalar_outputs},
    {"mse", {{1, 4096, 1}, {1, 65536, 1}, {1, 1048576, 1}}, mse_kernel, mse_oracle, scalar_outputs},
};

static const kernel_t torch_kernel = {.name = "libtorch", .sum = SUM_TORCH, .ulps = 1};

static const kernel_t kernels[] = {
    {.name = "plain sum", .honest = true, .sum = SUM_PLAIN, .ulps = 2},
    {.name = "plain FMA", .honest = true, .sum = SUM_FMA, .ulps = 2},
    {.name = "pairwise", .honest = true, .sum = SUM_PAIRS, .ulps = 2},
    {.name = "warp shuffle", .honest = true, .sum = SUM_WARP, .ulps = 2},
    {.name = "block tree", .honest = true, .sum = SUM_BLOCK, .ulps = 2},
    {.name = "atomics", .honest = true, .sum = SUM_ATOMIC, .ulps = 2},
    {.name = "Welford", .honest = true, .variance = VARIANCE_WELFORD, .sum = SUM_PLAIN, .ulps = 2},
    {.name = "one-pass variance",
     .honest = true,
     .variance = VARIANCE_ONE_PASS,
     .sum = SUM_WARP,
     .ulps = 2},
    {.name = "one-pass, plain sum",
     .honest = true,
     .variance = VARIANCE_ONE_PASS,
     .sum = SUM_FMA,
     .ulps = 2},
    {.name = "TF32 inputs", .inputs = ROUND_TF32, .sum = SUM_WARP, .ulps = 1},
    {.name = "float16 inputs", .inputs = ROUND_F16, .sum = SUM_WARP, .ulps = 1},
    {.name = "bfloat16 inputs", .inputs = ROUND_BF16, .sum = SUM_WARP, .ulps = 1},
    {.name = "float16 accumulator", .sum = SUM_HALF, .ulps = 1},
    {.name = "float16 output", .output = ROUND_F16, .sum = SUM_WARP, .ulps = 1},
    {.name = "bfloat16 output", .output = ROUND_BF16, .sum = SUM_WARP, .ulps = 1},
    {.name = "float16 exp", .sum = SUM_WARP, .ulps = 1, .half_exp = true},
};

enum { KERNELS = sizeof kernels / sizeof *kernels };

static bool applies(const program_t *program, const kernel_t *kernel)
{
    bool entropy = program->kernel == entropy_kernel, layer = program->kernel == layernorm_kernel;
    return (kernel->variance == VARIANCE_TWO_PASS || layer) && (!kernel->half_exp || entropy);
}

/* ---- trials ---- */

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

static size_t x_count(const data_t *d)
{
    return (size_t)d->rows * (size_t)d->n;
}

static size_t w_count(const data_t *d)
{
    return (size_t)d->columns * (size_t)d->n;
}

static void draw(data_t *d, bool linear)
{
    double bound = linear ? 1 / sqrt(d->n) : 0;
    for (size_t i = 0; i < x_count(d); i++)
        d->x[i] = random_normal();
    for (size_t i = 0; i < w_count(d); i++)
        d->w[i] = linear ? (float)((2 * random_uniform() - 1) * bound) : 1 + 0.1f * random_normal();
    for (int i = 0; i < d->n + d->columns; i++)
        d->b[i] = 0.1f * random_normal();
    for (int r = 0; r < d->rows; r++)
        d->target[r] = (int)(random_next() % (uint64_t)d->n);
}

static data_t data_create(const int *size)
{
    data_t d = {.rows = size[0], .n = size[1], .columns = size[2]};
    d.x = allocate(x_count(&d), sizeof *d.x);
    d.w = allocate(w_count(&d), sizeof *d.w);
    d.b = allocate((size_t)(d.n + d.columns), sizeof *d.b);
    d.target = allocate((size_t)d.rows, sizeof *d.target);
    return d;
}

static void data_release(data_t *d)
{
    free(d->x);
    free(d->w);
    free(d->b);
    free(d->target);
}

static void data_round(data_t *to, const data_t *from, round_kind_t kind)
{
    for (size_t i = 0; i < x_count(from); i++)
        to->x[i] = round_to(from->x[i], kind);
    for (size_t i = 0; i < w_count(from); i++)
        to->w[i] = round_to(from->w[i], kind);
    for (int i = 0; i < from->n + from->columns; i++)
        to->b[i] = round_to(from->b[i], kind);
    memcpy(to->target, from->target, (size_t)from->rows * sizeof *to->target);
}

typedef struct {
    double ratio[MAX_SEEDS], allowed[MAX_SEEDS];
    int refused, visible;
} row_t;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool first_only; /* lowered_error from the first trial alone */

/* One seed: the stats of each kernel over TRIALS draws. */
static void run_seed(const program_t *program, const int *size, rkb_error_stats_t *stats)
{
    data_t d = data_create(size), rounded = data_create(size);
    size_t count = (size_t)program->outputs(&d);
    float *reference = allocate(count, sizeof *reference), *out = allocate(count, sizeof *out);
    double *oracle = allocate(count, sizeof *oracle), *lowered = allocate(count, sizeof *lowered);
    rkb_output_spec_t spec = {.name = "y",
                              .dtype = RKB_F32,
                              .ndim = 1,
                              .sizes = {(int64_t)count},
                              .numel = (int64_t)count,
                              .bytes = count * sizeof(float)};
    rkb_compare_spec_t expected = {
        .spec = &spec, .reference = reference, .oracle = oracle, .atol = 1, .rtol = 1};
    rkb_output_view_t view = {
        .base = out, .dtype = RKB_F32, .ndim = 1, .sizes = {(int64_t)count}, .strides = {1}};
    for (int trial = 0; trial < TRIALS; trial++) {
        draw(&d, program->kernel == linear_kernel);
        program->oracle(&d, oracle);
        program->kernel(&d, &torch_kernel, reference);
        double lowered_error = 0;
        data_round(&rounded, &d, ROUND_TF32);
        program->oracle(&rounded, lowered);
        for (size_t i = 0; i < count && (trial == 0 || !first_only); i++)
            lowered_error = fmax(lowered_error, fabs(lowered[i] - oracle[i]));
        for (int k = 0; k < KERNELS; k++) {
            if (!applies(program, &kernels[k]))
                continue;
            data_round(&rounded, &d, kernels[k].inputs);
            program->kernel(&rounded, &kernels[k], out);
            rkb_check_values(&expected, &view, rkb_poison_pattern(1), &stats[k], NULL);
            stats[k].lowered_error = fmax(stats[k].lowered_error, lowered_error);
        }
    }
    free(reference);
    free(out);
    free(oracle);
    free(lowered);
    data_release(&d);
    data_release(&rounded);
}

static int run_program(const program_t *program, const int *size, int seeds)
{
    static row_t rows[KERNELS];
    memset(rows, 0, sizeof rows);
    int bad = 0;
    for (int seed = 0; seed < seeds; seed++) {
        rkb_error_stats_t stats[KERNELS] = {0};
        random_state = (uint64_t)seed << 32 | 1;
        run_seed(program, size, stats);
        for (int k = 0; k < KERNELS; k++) {
            if (stats[k].elements == 0)
                continue;
            double ratio = rkb_error_ratio(&stats[k], RKB_F32);
            double base = ratio > 0 ? stats[k].max_abs_error / ratio : INFINITY;
            bool visible = stats[k].lowered_error > RKB_ERROR_FACTOR * base;
            bool refused = rkb_check_ratio("y", &stats[k], RKB_F32, NULL, NULL) != RKB_VERDICT_OK;
            rows[k].ratio[seed] = ratio;
            rows[k].allowed[seed] = rkb_allowed_ratio(&stats[k], RKB_F32);
            rows[k].visible += visible;
            rows[k].refused += refused;
            /* Shown, not required: float16 exponentials err less than honest plain sums do, and a
             * plain sum of a million terms errs as much as a float16 result. */
            bool plain = kernels[k].sum == SUM_PLAIN || kernels[k].sum == SUM_FMA;
            if (kernels[k].honest)
                bad += refused && !(plain && size[1] > 1 << 17);
            else
                bad += visible && !refused && !kernels[k].half_exp;
        }
    }
    for (int k = 0; k < KERNELS; k++) {
        if (!applies(program, &kernels[k]))
            continue;
        row_t *row = &rows[k];
        qsort(row->ratio, (size_t)seeds, sizeof(double), by_value);
        qsort(row->allowed, (size_t)seeds, sizeof(double), by_value);
        printf("| %s | %d×%d | %s%s | %.1f | %.1f | %.1f | %.0f to %.0f | %d of %d |\n",
               program->name, size[0], size[1], kernels[k].honest ? "" : "*", kernels[k].name,
               row->ratio[0], row->ratio[seeds / 2], row->ratio[seeds - 1], row->allowed[0],
               row->allowed[seeds - 1], row->refused, seeds);
    }
    return bad;
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 3;
    first_only = argc > 2 && strcmp(argv[2], "first") == 0;
    if (seeds < 1 || seeds > MAX_SEEDS) {
        fprintf(stderr, "usage: %s [seeds, 1 to %d [first]]\n", argv[0], MAX_SEEDS);
        return 2;
    }
    int bad = 0;
    printf("| program | rows×n | kernel (* lower precision) | ratio: least | median | largest | "
           "allowed | refused |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        for (int s = 0; s < 6 && programs[p].sizes[s][0]; s++)
            bad += run_program(&programs[p], programs[p].sizes[s], seeds);
    if (bad)
        printf("%d wrong decisions\n", bad);
    return bad != 0;
}
