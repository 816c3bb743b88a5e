/*
 * The shipped tasks against computations that share nothing with libtorch: each task's formula and
 * gradients written out in double, and finite differences of the oracle.
 */
#include "evaluator/reference/reference.h"
#include "evaluator/reference/run_program.h"
#include "evaluator/task/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const rkb_torch_api_t *torch;
static rkb_task_set_t *tasks;

static int setup(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    (void)state;
    if (rkb_torch_load(&torch, &err) == RKB_OK &&
        rkb_task_set_load(RKB_SOURCE_DIR "/tasks", &tasks, &err) == RKB_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int teardown(void **state)
{
    (void)state;
    rkb_task_set_destroy(tasks);
    return 0;
}

/* ---- independent computations -------------------------------------------------------------------
 */

/* Sizes and data of one trial; `g` is the upstream gradient, `out` what the formula fills. */
typedef struct {
    const int64_t *symbols;
    const rkb_instance_t *instance;
    void **data;
    const float *g;
    double *out[3];
} problem_t;

static double eps_of(const problem_t *problem)
{
    return rkb_instance_attribute(problem->instance, 0)->d;
}

static void linear_forward(const problem_t *p)
{
    int64_t B = p->symbols[0], I = p->symbols[1], O = p->symbols[2];
    const float *x = p->data[0], *w = p->data[1], *b = p->data[2];
    for (int64_t r = 0; r < B; r++)
        for (int64_t o = 0; o < O; o++) {
            double sum = b[o];
            for (int64_t i = 0; i < I; i++)
                sum += (double)x[r * I + i] * w[o * I + i];
            p->out[0][r * O + o] = sum;
        }
}

static void linear_backward(const problem_t *p)
{
    int64_t B = p->symbols[0], I = p->symbols[1], O = p->symbols[2];
    const float *x = p->data[0], *w = p->data[1];
    for (int64_t r = 0; r < B; r++)
        for (int64_t o = 0; o < O; o++) {
            double g = p->g[r * O + o];
            p->out[2][o] += g;
            for (int64_t i = 0; i < I; i++) {
                p->out[0][r * I + i] += g * w[o * I + i];
                p->out[1][o * I + i] += g * x[r * I + i];
            }
        }
}

static double row_softmax(const float *row, int64_t count, double *probabilities)
{
    double top = row[0], sum = 0;
    for (int64_t c = 1; c < count; c++)
        top = fmax(top, row[c]);
    for (int64_t c = 0; c < count; c++)
        sum += probabilities[c] = exp(row[c] - top);
    for (int64_t c = 0; c < count; c++)
        probabilities[c] /= sum;
    return top + log(sum); /* log of the sum of exponentials */
}

static void cross_entropy(const problem_t *p, bool backward)
{
    int64_t B = p->symbols[0], C = p->symbols[1];
    const float *x = p->data[0];
    const int64_t *target = p->data[1];
    double *q = malloc((size_t)C * sizeof *q);
    assert_non_null(q);
    for (int64_t r = 0; r < B; r++) {
        double lse = row_softmax(x + r * C, C, q);
        if (!backward)
            p->out[0][0] += (lse - x[r * C + target[r]]) / (double)B;
        for (int64_t c = 0; backward && c < C; c++)
            p->out[0][r * C + c] = p->g[0] * (q[c] - (c == target[r])) / (double)B;
    }
    free(q);
}

static void cross_entropy_forward(const problem_t *p)
{
    cross_entropy(p, false);
}

static void cross_entropy_backward(const problem_t *p)
{
    cross_entropy(p, true);
}

/* Mean and 1/sqrt(variance + eps) of one sample. */
static void moments(const float *x, int64_t count, double eps, double *mean, double *scale)
{
    double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i];
    *mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++)
        square += (x[i] - *mean) * (x[i] - *mean);
    *scale = 1 / sqrt(square / (double)count + eps);
}

static void layernorm_forward(const problem_t *p)
{
    int64_t B = p->symbols[0], N = p->symbols[1] * p->symbols[2] * p->symbols[3];
    const float *x = p->data[0], *w = p->data[1], *b = p->data[2];
    for (int64_t r = 0; r < B; r++) {
        double mean, scale;
        moments(x + r * N, N, eps_of(p), &mean, &scale);
        for (int64_t i = 0; i < N; i++)
            p->out[0][r * N + i] = (x[r * N + i] - mean) * scale * w[i] + b[i];
    }
}

static void layernorm_backward(const problem_t *p)
{
    int64_t B = p->symbols[0], N = p->symbols[1] * p->symbols[2] * p->symbols[3];
    const float *x = p->data[0], *w = p->data[1];
    for (int64_t r = 0; r < B; r++) {
        double mean, scale, dot = 0, sum = 0;
        moments(x + r * N, N, eps_of(p), &mean, &scale);
        for (int64_t i = 0; i < N; i++) {
            double g = p->g[r * N + i], n = (x[r * N + i] - mean) * scale;
            sum += g * w[i];
            dot += g * w[i] * n;
            p->out[1][i] += g * n;
            p->out[2][i] += g;
        }
        for (int64_t i = 0; i < N; i++) {
            double n = (x[r * N + i] - mean) * scale;
            p->out[0][r * N + i] =
                scale * ((double)p->g[r * N + i] * w[i] - sum / (double)N - n * dot / (double)N);
        }
    }
}

static double root_mean_square(const float *x, int64_t count, double eps)
{
    double square = 0;
    for (int64_t i = 0; i < count; i++)
        square += (double)x[i] * x[i];
    return 1 / sqrt(square / (double)count + eps);
}

static void rmsnorm_forward(const problem_t *p)
{
    int64_t rows = p->symbols[0] * p->symbols[1], F = p->symbols[2];
    const float *x = p->data[0], *w = p->data[1];
    for (int64_t r = 0; r < rows; r++) {
        double scale = root_mean_square(x + r * F, F, eps_of(p));
        for (int64_t i = 0; i < F; i++)
            p->out[0][r * F + i] = x[r * F + i] * scale * w[i];
    }
}

static void rmsnorm_backward(const problem_t *p)
{
    int64_t rows = p->symbols[0] * p->symbols[1], F = p->symbols[2];
    const float *x = p->data[0], *w = p->data[1];
    for (int64_t r = 0; r < rows; r++) {
        double scale = root_mean_square(x + r * F, F, eps_of(p)), dot = 0;
        for (int64_t i = 0; i < F; i++) {
            dot += (double)p->g[r * F + i] * w[i] * x[r * F + i];
            p->out[1][i] += p->g[r * F + i] * (x[r * F + i] * scale);
        }
        for (int64_t i = 0; i < F; i++)
            p->out[0][r * F + i] = scale * ((double)p->g[r * F + i] * w[i] -
                                            x[r * F + i] * scale * scale * dot / (double)F);
    }
}

static const struct {
    const char *task;
    void (*formula[RKB_DIRECTIONS])(const problem_t *problem);
} formulas[] = {
    {"mnist_linear", {linear_forward, linear_backward}},
    {"mnist_cross_entropy", {cross_entropy_forward, cross_entropy_backward}},
    {"layernorm", {layernorm_forward, layernorm_backward}},
    {"llama_rmsnorm", {rmsnorm_forward, rmsnorm_backward}},
};

static rkb_expected_set_t run(const rkb_trial_data_t *trial, unsigned flags)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_expected_set_t set;
    if (rkb_reference_run(torch, trial, flags, &set, &err) != RKB_OK)
        fail_msg("%s", err.text);
    return set;
}

/* Oracle to twelve digits of the largest value, reference within the task's own tolerance. */
static void compare(const rkb_instance_t *instance, rkb_direction_t direction,
                    const rkb_expected_t *expected, const double *ours)
{
    double atol, rtol, largest = 0;
    rkb_instance_tolerance(instance, direction, &atol, &rtol);
    for (int64_t i = 0; i < expected->spec.numel; i++)
        largest = fmax(largest, fabs(ours[i]));
    for (int64_t i = 0; i < expected->spec.numel; i++) {
        double reference = ((const float *)expected->reference)[i];
        if (!(fabs(expected->oracle[i] - ours[i]) <= 1e-12 * largest))
            fail_msg("%s %s: oracle of %s[%lld] is %.17g, the formula has %.17g",
                     rkb_task_path(rkb_instance_task(instance)), rkb_instance_config_name(instance),
                     expected->spec.name, (long long)i, expected->oracle[i], ours[i]);
        if (!(fabs(reference - ours[i]) <= atol + rtol * fabs(ours[i])))
            fail_msg("%s %s: %s[%lld] is %.9g, the formula has %.9g",
                     rkb_task_path(rkb_instance_task(instance)), rkb_instance_config_name(instance),
                     expected->spec.name, (long long)i, reference, ours[i]);
    }
}

static void check_formula(const rkb_task_t *task, const rkb_config_t *config,
                          rkb_direction_t direction, void (*formula)(const problem_t *),
                          unsigned number)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_instance_t *instance;
    rkb_trial_data_t *trial;
    assert_int_equal(rkb_instance_create(task, config, &instance, &err), RKB_OK);
    assert_int_equal(rkb_trial_create(torch, instance, direction, 42, number, &trial, &err),
                     RKB_OK);
    rkb_expected_set_t set = run(trial, 0);
    problem_t problem = {.symbols = rkb_instance_symbols(instance),
                         .instance = instance,
                         .data = trial->tensors,
                         .g = direction == RKB_BACKWARD ? trial->grad_outputs[0] : NULL};
    assert_true(set.oracle_float64 && set.count <= 3);
    for (size_t i = 0; i < set.count; i++) {
        problem.out[i] = calloc((size_t)set.outputs[i].spec.numel, sizeof(double));
        assert_non_null(problem.out[i]);
    }
    formula(&problem);
    for (size_t i = 0; i < set.count; i++) {
        compare(instance, direction, &set.outputs[i], problem.out[i]);
        free(problem.out[i]);
    }
    rkb_expected_release(&set);
    rkb_trial_destroy(trial);
    rkb_instance_destroy(instance);
}

static void test_oracles_agree_with_the_formulas(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof formulas / sizeof formulas[0]; k++) {
        rkb_error_t err = RKB_ERROR_INIT;
        const rkb_task_t *task;
        assert_int_equal(rkb_task_set_find(tasks, formulas[k].task, &task, &err), RKB_OK);
        size_t smoke = (size_t)rkb_task_find_config_set(task, "smoke");
        for (int d = 0; d < RKB_DIRECTIONS; d++)
            for (size_t c = 0; c < rkb_task_config_count(task, smoke, d); c++)
                for (unsigned number = 0; number < 2; number++)
                    check_formula(task, rkb_task_config(task, smoke, d, c), d,
                                  formulas[k].formula[d], number);
    }
}

/* ---- finite differences
 * --------------------------------------------------------------------------- */

/* sum of outputs · upstream gradients at the trial's inputs */
static double scalar_of(const rkb_trial_data_t *backward)
{
    rkb_trial_data_t forward = *backward;
    forward.direction = RKB_FORWARD;
    rkb_expected_set_t set = run(&forward, RKB_REFERENCE_ORACLE_ONLY);
    double sum = 0;
    for (size_t o = 0; o < set.count; o++)
        for (int64_t i = 0; set.outputs[o].oracle && i < set.outputs[o].spec.numel; i++)
            sum += set.outputs[o].oracle[i] * ((float *)backward->grad_outputs[o])[i];
    rkb_expected_release(&set);
    return sum;
}

/* Central difference along one element, with the step that float32 really makes. */
static double slope(const rkb_trial_data_t *trial, float *element)
{
    const float at = *element, step = 1e-3f;
    *element = at + step;
    double above = *element, high = scalar_of(trial);
    *element = at - step;
    double below = *element, low = scalar_of(trial);
    *element = at;
    return (high - low) / (above - below);
}

static void check_gradients(const rkb_task_t *task, const rkb_config_t *config)
{
    enum { PROBES = 6 };
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_instance_t *instance;
    rkb_trial_data_t *trial;
    assert_int_equal(rkb_instance_create(task, config, &instance, &err), RKB_OK);
    assert_int_equal(rkb_trial_create(torch, instance, RKB_BACKWARD, 43, 0, &trial, &err), RKB_OK);
    rkb_expected_set_t set = run(trial, 0);
    for (size_t k = 0; k < set.count; k++) {
        size_t tensor = rkb_task_backward_return(task, k);
        int64_t numel = rkb_instance_tensor(instance, tensor)->numel;
        assert_int_equal(set.outputs[k].spec.numel, numel);
        for (int64_t probe = 0; probe < PROBES; probe++) {
            int64_t i = probe * (numel - 1) / (PROBES - 1);
            double found = slope(trial, (float *)trial->tensors[tensor] + i);
            double expected = set.outputs[k].oracle[i];
            if (!(fabs(found - expected) <= 1e-5 * (1 + fabs(expected))))
                fail_msg("%s %s: %s[%lld] is %.9g, differences give %.9g", rkb_task_path(task),
                         rkb_config_name(config), set.outputs[k].spec.name, (long long)i, expected,
                         found);
        }
    }
    rkb_expected_release(&set);
    rkb_trial_destroy(trial);
    rkb_instance_destroy(instance);
}

static void test_gradients_agree_with_finite_differences(void **state)
{
    (void)state;
    for (size_t t = 0; t < rkb_task_set_count(tasks); t++) {
        const rkb_task_t *task = rkb_task_set_get(tasks, t);
        int smoke = rkb_task_find_config_set(task, "smoke");
        if (!rkb_task_has_direction(task, RKB_BACKWARD) || smoke < 0)
            continue;
        check_gradients(task, rkb_task_config(task, (size_t)smoke, RKB_BACKWARD, 0));
    }
}

static void test_every_program_fits_this_libtorch(void **state)
{
    (void)state;
    for (size_t t = 0; t < rkb_task_set_count(tasks); t++) {
        rkb_error_t err = RKB_ERROR_INIT;
        if (rkb_program_check(torch, rkb_task_set_get(tasks, t), &err) != RKB_OK)
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_program_fits_this_libtorch),
        cmocka_unit_test(test_oracles_agree_with_the_formulas),
        cmocka_unit_test(test_gradients_agree_with_finite_differences),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
