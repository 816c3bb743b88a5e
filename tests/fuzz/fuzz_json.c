/* Whatever parses must print and parse again; whatever does not must say why. */
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cJSON *tree = NULL, *again = NULL;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_status_t status = rkb_json_parse((const char *)data, size, &tree, &err);
    if (status != RKB_OK) {
        check(status == RKB_ERR_INVALID && !tree && strncmp(err.text, "line ", 5) == 0);
        return 0;
    }
    char *text = rkb_json_print_line(tree);
    check(text && !strchr(text, '\n'));
    check(rkb_json_parse(text, strlen(text), &again, &err) == RKB_OK);
    check(cJSON_Compare(tree, again, true));
    rkb_json_at_t root = rkb_json_root(tree);
    int64_t i;
    uint64_t u;
    if (rkb_json_as_int64(&root, &i, &err) == RKB_OK && i > 0)
        check(rkb_json_as_uint64(&root, &u, &err) == RKB_OK && u == (uint64_t)i);
    free(text);
    cJSON_Delete(again);
    cJSON_Delete(tree);
    return 0;
}
