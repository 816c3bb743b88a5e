/* A task that is read must be usable as it is: names come back, shapes are sound, tensors draw. */
#include "evaluator/task/task_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
    if (!condition)
        abort();
}

static void use_tensors(const rkb_instance_t *instance)
{
    static unsigned char memory[1 << 16];
    rkb_error_t err = RKB_ERROR_INIT;
    for (size_t i = 0; i < rkb_instance_tensor_count(instance); i++) {
        const rkb_tensor_spec_t *spec = rkb_instance_tensor(instance, i);
        int64_t numel = 1;
        for (int d = 0; d < spec->ndim; d++) {
            check(spec->sizes[d] >= 1);
            numel *= spec->sizes[d];
        }
        check(numel == spec->numel && spec->bytes == (size_t)numel * rkb_dtype_bytes(spec->dtype));
        if (spec->bytes <= sizeof memory)
            check(rkb_instance_generate(instance, spec, 1, 0, memory, &err) == RKB_OK);
    }
}

static void use_config(const rkb_task_t *task, const rkb_config_t *config)
{
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_config_t *parsed;
    rkb_instance_t *instance;
    check(rkb_task_parse_config(task, rkb_config_name(config), &parsed, &err) == RKB_OK);
    check(strcmp(rkb_config_name(parsed), rkb_config_name(config)) == 0);
    check(rkb_instance_create(task, parsed, &instance, &err) == RKB_OK);
    for (int d = 0; d < RKB_DIRECTIONS; d++)
        for (size_t i = 0; i < rkb_instance_argument_count(instance, d); i++)
            check(rkb_instance_argument(instance, d, i)->name != NULL);
    use_tensors(instance);
    rkb_instance_destroy(instance);
    rkb_config_destroy(parsed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { CONFIGS = 8 }; /* of each set: a product makes thousands alike */
    static const char file[] = "fuzz/task.json";
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_task_t *task = NULL;
    rkb_status_t status = rkb_task_parse(file, (const char *)data, size, &task, &err);
    if (status != RKB_OK) {
        check(status == RKB_ERR_INVALID && err.status == status && !task);
        check(strncmp(err.text, file, sizeof file - 1) == 0);
        return 0;
    }
    for (size_t s = 0; s < rkb_task_config_set_count(task); s++)
        for (int d = 0; d < RKB_DIRECTIONS; d++)
            for (size_t c = 0; c < rkb_task_config_count(task, s, d) && c < CONFIGS; c++)
                use_config(task, rkb_task_config(task, s, d, c));
    rkb_task_destroy(task);
    return 0;
}
