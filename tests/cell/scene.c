#include "scene.h"

#include "common/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

rkb_cell_pool_t *scene_pool;

const char *module_path(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/cell/modules/%s.so", RKB_BINARY_DIR, name);
    return path;
}

bool process_exists(pid_t pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    const char *state = strrchr(line, ')');
    return state && state[2] != 'Z';
}

void scene_open(scene_t *s)
{
    rkb_error_t err = RKB_ERROR_INIT;
    memset(s, 0, sizeof *s);
    if (rkb_cell_pool_take(scene_pool, &s->cell, &err) != RKB_OK)
        fail_msg("%s", err.text);
    s->pid = rkb_cell_pid(s->cell);
    s->arena_fd = memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(s->arena_fd, ARENA), 0);
    s->arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, s->arena_fd, 0);
    assert_true(s->arena != MAP_FAILED);
    const float x[X_COUNT] = {1, 2, 3, 4};
    memcpy(s->arena + X_AT, x, sizeof x);
    s->call = (rkb_cell_call_t){
        .heap_offset = HEAP, .heap_bytes = ARENA - HEAP, .poison = POISON, .nargs = 1};
    s->call.args[0].kind = RKB_VALUE_TENSOR;
    s->call.args[0].tensor = (rkb_cell_tensor_t){
        .offset = X_AT, .dtype = RKB_F32, .ndim = 1, .sizes = {X_COUNT}, .strides = {1}};
}

void scene_close(scene_t *s)
{
    rkb_cell_destroy(s->cell);
    munmap(s->arena, ARENA);
    close(s->arena_fd);
    assert_false(process_exists(s->pid));
}

rkb_fate_kind_t scene_load(scene_t *s, const char *module, const char *entry, double limit)
{
    return rkb_cell_load(s->cell, module_path(module), entry, s->arena_fd, ARENA,
                         rkb_clock_now() + limit, &s->loaded, &s->fate);
}

rkb_fate_kind_t scene_call(scene_t *s, double limit)
{
    return rkb_cell_call(s->cell, &s->call, rkb_clock_now() + limit, &s->returned, &s->fate);
}

void load_entry(scene_t *s, const char *entry)
{
    scene_open(s);
    if (scene_load(s, "hostile", entry, 10) != RKB_FATE_OK || s->loaded.status != RKB_LOADED_OK) {
        rkb_cell_fate_verdict(&s->fate, RKB_DURING_LOAD, &s->finding);
        fail_msg("%s: load: %s %s", entry, s->finding.detail, s->loaded.text);
    }
}

void expect_output(const scene_t *s)
{
    assert_int_equal(s->returned.noutputs, 1);
    assert_int_equal(s->returned.output_is_tensor[0], 1);
    assert_int_equal(s->returned.output_in_arena[0], 1);
    const rkb_cell_tensor_t *y = &s->returned.outputs[0];
    assert_int_equal(y->dtype, RKB_F32);
    assert_int_equal(y->ndim, 1);
    assert_int_equal(y->sizes[0], X_COUNT);
    for (int i = 0; i < X_COUNT; i++) {
        float value;
        memcpy(&value, s->arena + y->offset + (size_t)i * 4, 4);
        assert_true(value == 2 * (float)(i + 1));
    }
}

/* A fresh cell does its work whatever the one before did. */
void expect_next_works(void)
{
    scene_t s;
    load_entry(&s, "twice");
    assert_int_equal(scene_call(&s, 10), RKB_FATE_OK);
    expect_output(&s);
    scene_close(&s);
}

void expect_fate(const char *entry, double limit, rkb_verdict_t verdict, const char *text)
{
    scene_t s;
    load_entry(&s, entry);
    double started = rkb_clock_now();
    rkb_fate_kind_t kind = scene_call(&s, limit);
    assert_int_equal(kind, s.fate.kind);
    rkb_verdict_t got = kind == RKB_FATE_OK
                            ? rkb_cell_returned_verdict(&s.returned, &s.finding)
                            : rkb_cell_fate_verdict(&s.fate, RKB_DURING_CALL, &s.finding);
    if (got != verdict || !strstr(s.finding.detail, text))
        fail_msg("%s: %s: %s; expected %s with \"%s\"", entry, rkb_verdict_name(got),
                 s.finding.detail, rkb_verdict_name(verdict), text);
    assert_true(rkb_clock_now() - started < limit + 5);
    if (kind != RKB_FATE_OK) {
        assert_false(process_exists(s.pid));
        assert_int_equal(scene_call(&s, 1), RKB_FATE_OURS); /* a dead cell takes no call */
    }
    scene_close(&s);
    expect_next_works();
}

void expect_denied(const char *entry)
{
    expect_fate(entry, 10, RKB_VERDICT_EXCEPTION, "denied");
}

int scene_open_pool(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    if (rkb_cell_pool_create(&scene_pool, &err) == RKB_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

int scene_close_pool(void **state)
{
    (void)state;
    rkb_cell_pool_destroy(scene_pool);
    errno = 0;
    if (waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD)
        return 0;
    print_error("a process is left over\n");
    return -1;
}
