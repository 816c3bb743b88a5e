/* Any bytes: the rewriter ends with a text or an error, and the text has as many lines. */
#include "evaluator/candidate/rewrite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rkb_error_t err = RKB_ERROR_INIT;
    char *out = NULL;
    size_t len = 0;
    rkb_status_t status = rkb_rewrite_cuda("f.cu", (const char *)data, size, &out, &len, &err);
    if (status != RKB_OK) {
        if (err.text[0] == '\0' || out)
            abort();
        return 0;
    }
    size_t before = 0, after = 0;
    for (size_t i = 0; i < size; i++)
        before += data[i] == '\n';
    for (size_t i = 0; i < len; i++)
        after += out[i] == '\n';
    if (after != before + 1) /* and the #line */
        abort();
    free(out);
    return 0;
}
