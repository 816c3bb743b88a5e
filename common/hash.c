#include "common/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHA256_BYTES = 32, FILE_CHUNK = 1 << 16 };

struct rkb_sha256 {
    EVP_MD_CTX *context;
};

rkb_status_t rkb_sha256_create(rkb_sha256_t **out, rkb_error_t *err)
{
    rkb_sha256_t *hash = calloc(1, sizeof *hash);
    if (!hash)
        return rkb_error_set(err, RKB_ERR_NO_MEMORY, "SHA-256: out of memory");
    hash->context = EVP_MD_CTX_new();
    if (!hash->context || EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) != 1) {
        rkb_sha256_destroy(hash);
        return rkb_error_set(err, RKB_ERR_INTERNAL, "libcrypto offers no SHA-256");
    }
    *out = hash;
    return RKB_OK;
}

void rkb_sha256_update(rkb_sha256_t *hash, const void *data, size_t len)
{
    /* Fails only without a context or digest, which create has ruled out; a hash that silently
     * lacked bytes would be worse than an end. */
    if (EVP_DigestUpdate(hash->context, data, len) != 1)
        abort();
}

void rkb_sha256_update_field(rkb_sha256_t *hash, const char *text)
{
    rkb_sha256_update(hash, text, strlen(text) + 1);
}

void rkb_sha256_finish(rkb_sha256_t *hash, char hex[RKB_SHA256_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[SHA256_BYTES];
    if (EVP_DigestFinal_ex(hash->context, bytes, NULL) != 1)
        abort();
    for (int i = 0; i < SHA256_BYTES; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * SHA256_BYTES] = '\0';
}

void rkb_sha256_destroy(rkb_sha256_t *hash)
{
    if (!hash)
        return;
    EVP_MD_CTX_free(hash->context);
    free(hash);
}

rkb_status_t rkb_sha256_buffer(const void *data, size_t len, char hex[RKB_SHA256_HEX_SIZE],
                               rkb_error_t *err)
{
    rkb_sha256_t *hash;
    rkb_status_t status = rkb_sha256_create(&hash, err);
    if (status != RKB_OK)
        return status;
    rkb_sha256_update(hash, data, len);
    rkb_sha256_finish(hash, hex);
    rkb_sha256_destroy(hash);
    return RKB_OK;
}

rkb_status_t rkb_sha256_file(const char *path, char hex[RKB_SHA256_HEX_SIZE], rkb_error_t *err)
{
    /* A pipe would block, a device never end. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return rkb_error_set(err, errno == ENOENT ? RKB_ERR_NOT_FOUND : RKB_ERR_IO, "%s: %s", path,
                             strerror(errno));
    rkb_sha256_t *hash;
    struct stat info;
    rkb_status_t status = RKB_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        status = rkb_error_set(err, RKB_ERR_INVALID, "%s: not a regular file", path);
    if (status == RKB_OK)
        status = rkb_sha256_create(&hash, err);
    if (status != RKB_OK)
        goto err_close;
    unsigned char chunk[FILE_CHUNK];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            status = rkb_error_set(err, RKB_ERR_IO, "%s: %s", path, strerror(errno));
            goto err_destroy;
        }
        if (got == 0)
            break;
        rkb_sha256_update(hash, chunk, (size_t)got);
    }
    rkb_sha256_finish(hash, hex);
err_destroy:
    rkb_sha256_destroy(hash);
err_close:
    close(fd);
    return status;
}

uint64_t rkb_fnv1a(const void *data, size_t len, uint64_t basis)
{
    const unsigned char *bytes = data;
    uint64_t hash = basis;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t rkb_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
