#include "evaluator/task/npy.h"

#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *descr(rkb_dtype_t dtype)
{
    switch (dtype) {
    case RKB_U8:
        return "|u1";
    case RKB_I8:
        return "|i1";
    case RKB_I16:
        return "<i2";
    case RKB_I32:
        return "<i4";
    case RKB_I64:
        return "<i8";
    case RKB_F16:
        return "<f2";
    case RKB_F32:
        return "<f4";
    case RKB_F64:
        return "<f8";
    case RKB_BOOL:
        return "|b1";
    case RKB_BF16:
        return "<u2";
    case RKB_DTYPE_NONE:
        break;
    }
    return NULL;
}

/* Magic, version, length, and the header padded so that the data begin at a multiple of 64. */
static size_t compose_header(char *header, size_t size, const char *type, const int64_t *sizes,
                             int ndim)
{
    static const char magic[] = "\x93NUMPY\x01";
    enum { PREFIX = 10 };
    memcpy(header, magic, 7);
    header[7] = '\0';
    size_t len = PREFIX;
    len += (size_t)snprintf(header + len, size - len,
                            "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int d = 0; d < ndim; d++)
        len += (size_t)snprintf(header + len, size - len, "%s%lld", d ? ", " : "",
                                (long long)sizes[d]);
    len += (size_t)snprintf(header + len, size - len, "%s), }", ndim == 1 ? "," : "");
    while ((len + 1) % 64 != 0)
        header[len++] = ' ';
    header[len++] = '\n';
    header[8] = (char)((len - PREFIX) & 0xff);
    header[9] = (char)((len - PREFIX) >> 8);
    return len;
}

rkb_status_t rkb_npy_write(const char *path, rkb_dtype_t dtype, const int64_t *sizes, int ndim,
                           const void *data, size_t bytes, rkb_error_t *err)
{
    char header[64 * 12]; /* 16 dimensions of 21 characters and the rest */
    const char *type = descr(dtype);
    if (!type)
        return rkb_error_set(err, RKB_ERR_UNSUPPORTED, "%s: dtype %d has no .npy form", path,
                             (int)dtype);
    size_t len = compose_header(header, sizeof header - 64, type, sizes, ndim);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return rkb_error_set(err, RKB_ERR_IO, "%s: %s", path, strerror(errno));
    rkb_status_t status = rkb_file_write_all(fd, header, len, err);
    if (status == RKB_OK)
        status = rkb_file_write_all(fd, data, bytes, err);
    if (close(fd) != 0 && status == RKB_OK)
        status = rkb_error_set(err, RKB_ERR_IO, "%s", strerror(errno));
    if (status != RKB_OK)
        rkb_error_prefix(err, "%s", path);
    return status;
}
