#include "evaluator/cell/runtime/runtime.h"

#include "evaluator/cell/runtime/tensor.h"

#include <string.h>

enum { MAX_DELEGATED = 64, NAME_SIZE = 128 };

static struct {
    char text[MAX_DELEGATED][NAME_SIZE];
    const char *names[MAX_DELEGATED];
    size_t count;
} delegated;

void rkb_runtime_begin(void *arena, uint64_t heap_offset, uint64_t heap_bytes, uint32_t poison)
{
    rkb_heap_reset(arena, heap_offset, heap_bytes, poison);
    delegated.count = 0;
}

size_t rkb_runtime_delegated(const char *const **names)
{
    for (size_t i = 0; i < delegated.count; i++)
        delegated.names[i] = delegated.text[i];
    *names = delegated.names;
    return delegated.count;
}

void rkb_runtime_record(const char *name)
{
    char base[NAME_SIZE];
    size_t len = strcspn(name, ".");
    if (len >= sizeof(base))
        len = sizeof(base) - 1;
    memcpy(base, name, len);
    base[len] = '\0';
    for (size_t i = 0; i < delegated.count; i++)
        if (strcmp(delegated.text[i], base) == 0)
            return;
    if (delegated.count < MAX_DELEGATED)
        memcpy(delegated.text[delegated.count++], base, len + 1);
}
