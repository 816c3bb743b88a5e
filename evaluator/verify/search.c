#include "evaluator/verify/verify_internal.h"

#include <string.h>

enum { RKB_SEARCH_BLOCK = 4096 };

bool rkb_find_difference(const void *a, const void *b, size_t bytes, size_t *first, size_t *count)
{
    const unsigned char *left = a, *right = b;
    size_t at = 0;
    while (bytes - at >= RKB_SEARCH_BLOCK && memcmp(left + at, right + at, RKB_SEARCH_BLOCK) == 0)
        at += RKB_SEARCH_BLOCK;
    while (at < bytes && left[at] == right[at])
        at++;
    if (at == bytes)
        return false;
    size_t end = at;
    while (end < bytes && left[end] != right[end])
        end++;
    *first = at;
    *count = end - at;
    return true;
}

bool rkb_find_unpoisoned(const void *data, size_t bytes, uint32_t poison, size_t *first)
{
    const unsigned char *at = data;
    for (size_t i = 0; i + sizeof poison <= bytes; i += sizeof poison) {
        if (memcmp(at + i, &poison, sizeof poison) != 0) {
            *first = i;
            return true;
        }
    }
    return false;
}
