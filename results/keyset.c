#include "results/keyset.h"

#include "common/file.h"
#include "common/hash.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

typedef struct {
    uint64_t a, b; /* both 0: free */
} slot_t;

struct rkb_keyset {
    slot_t *slots;
    size_t room, used; /* room is a power of two */
};

rkb_keyset_t *rkb_keyset_create(void)
{
    rkb_keyset_t *set = rkb_xcalloc(1, sizeof *set);
    set->room = FIRST_SLOTS;
    set->slots = rkb_xcalloc(set->room, sizeof *set->slots);
    return set;
}

void rkb_keyset_destroy(rkb_keyset_t *set)
{
    if (!set)
        return;
    free(set->slots);
    free(set);
}

static slot_t *find(const rkb_keyset_t *set, slot_t key)
{
    size_t i = (size_t)key.a & (set->room - 1);
    while ((set->slots[i].a || set->slots[i].b) &&
           (set->slots[i].a != key.a || set->slots[i].b != key.b))
        i = (i + 1) & (set->room - 1);
    return &set->slots[i];
}

static void grow(rkb_keyset_t *set)
{
    rkb_keyset_t larger = {.room = set->room * 2, .used = set->used};
    larger.slots = rkb_xcalloc(larger.room, sizeof *larger.slots);
    for (size_t i = 0; i < set->room; i++) {
        if (set->slots[i].a || set->slots[i].b)
            *find(&larger, set->slots[i]) = set->slots[i];
    }
    free(set->slots);
    *set = larger;
}

static uint64_t parse_hex16(const char *hex)
{
    char part[17];
    memcpy(part, hex, 16);
    part[16] = '\0';
    return strtoull(part, NULL, 16);
}

rkb_status_t rkb_keyset_add(rkb_keyset_t *set, const char *key, bool *added, rkb_error_t *err)
{
    char hex[RKB_SHA256_HEX_SIZE];
    rkb_status_t status = rkb_sha256_buffer(key, strlen(key), hex, err);
    if (status != RKB_OK)
        return status;
    slot_t value = {.a = parse_hex16(hex), .b = parse_hex16(hex + 16)};
    slot_t *slot = find(set, value);
    *added = slot->a != value.a || slot->b != value.b;
    if (*added) {
        *slot = value;
        if (++set->used * 3 > set->room * 2)
            grow(set);
    }
    return RKB_OK;
}
