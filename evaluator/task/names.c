#include "evaluator/task/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool rkb_name_is_identifier(const char *text, size_t len)
{
    if (len == 0 || len > RKB_NAME_MAX || isdigit((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return true;
}

bool rkb_name_is_path(const char *text, bool slashes)
{
    size_t len = strlen(text);
    char before = '/';
    if (len == 0 || len > 2 * RKB_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool part_start = before == '/';
        if (c == '/' ? !slashes || part_start
                     : !isalnum((unsigned char)c) && (part_start || !strchr("_-.", c)))
            return false;
        before = c;
    }
    return before != '/';
}

static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[RKB_NAME_MAX + 1];
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

rkb_nearest_t rkb_nearest_init(const char *wanted, size_t len)
{
    return (rkb_nearest_t){wanted, len, NULL, len / 3 + 2};
}

void rkb_nearest_offer(rkb_nearest_t *nearest, const char *name)
{
    size_t len = strlen(name);
    if (len > RKB_NAME_MAX || nearest->wanted_len > RKB_NAME_MAX)
        return;
    size_t distance = edit_distance(nearest->wanted, nearest->wanted_len, name, len);
    if (distance < nearest->distance && distance < len) {
        nearest->best = name;
        nearest->distance = distance;
    }
}

const char *rkb_nearest_hint(const rkb_nearest_t *nearest, char *buf, size_t size)
{
    if (nearest->best)
        snprintf(buf, size, "; did you mean \"%s\"?", nearest->best);
    else if (size > 0)
        buf[0] = '\0';
    return buf;
}
