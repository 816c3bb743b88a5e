#include "tests/unit/unit.h"

#include "common/hash.h"

#include <sys/stat.h>

/* Vectors of FIPS 180-4. */
static const char empty_hash[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char abc_hash[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char million_a_hash[] =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void test_sha256_vectors(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    char hex[RKB_SHA256_HEX_SIZE];
    assert_status(rkb_sha256_buffer("", 0, hex, &err), RKB_OK, &err);
    assert_string_equal(hex, empty_hash);
    assert_status(rkb_sha256_buffer("abc", 3, hex, &err), RKB_OK, &err);
    assert_string_equal(hex, abc_hash);
}

static void test_sha256_in_pieces(void **state)
{
    (void)state;
    rkb_error_t err = RKB_ERROR_INIT;
    rkb_sha256_t *hash;
    assert_status(rkb_sha256_create(&hash, &err), RKB_OK, &err);
    char piece[1000];
    memset(piece, 'a', sizeof piece);
    for (int i = 0; i < 1000; i++)
        rkb_sha256_update(hash, piece, sizeof piece);
    char hex[RKB_SHA256_HEX_SIZE];
    rkb_sha256_finish(hash, hex);
    rkb_sha256_destroy(hash);
    rkb_sha256_destroy(NULL);
    assert_string_equal(hex, million_a_hash);
}

static void hash_fields(const char *a, const char *b, char hex[RKB_SHA256_HEX_SIZE])
{
    rkb_sha256_t *hash;
    assert_int_equal(rkb_sha256_create(&hash, NULL), RKB_OK);
    rkb_sha256_update_field(hash, a);
    rkb_sha256_update_field(hash, b);
    rkb_sha256_finish(hash, hex);
    rkb_sha256_destroy(hash);
}

static void test_fields_do_not_run_together(void **state)
{
    (void)state;
    char one[RKB_SHA256_HEX_SIZE], other[RKB_SHA256_HEX_SIZE];
    hash_fields("ab", "c", one);
    hash_fields("a", "bc", other);
    assert_string_not_equal(one, other);
}

static void test_sha256_file(void **state)
{
    rkb_error_t err = RKB_ERROR_INIT;
    char hex[RKB_SHA256_HEX_SIZE];
    char *path = rkb_strf("%s/abc", (char *)*state);
    unit_write_file(path, "abc");
    assert_status(rkb_sha256_file(path, hex, &err), RKB_OK, &err);
    assert_string_equal(hex, abc_hash);
    unlink(path);
    assert_status(rkb_sha256_file(path, hex, &err), RKB_ERR_NOT_FOUND, &err);
    assert_contains(err.text, path);
    assert_int_equal(mkfifo(path, 0600), 0); /* reading one would block for ever */
    assert_status(rkb_sha256_file(path, hex, &err), RKB_ERR_INVALID, &err);
    free(path);
    assert_status(rkb_sha256_file(*state, hex, &err), RKB_ERR_INVALID, &err);
}

static void test_fnv1a_vectors(void **state)
{
    (void)state;
    assert_true(rkb_fnv1a("", 0, RKB_FNV1A_BASIS) == UINT64_C(0xcbf29ce484222325));
    assert_true(rkb_fnv1a("a", 1, RKB_FNV1A_BASIS) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(rkb_fnv1a("foobar", 6, RKB_FNV1A_BASIS) == UINT64_C(0x85944171f73967e8));
    uint64_t first = rkb_fnv1a("foo", 3, RKB_FNV1A_BASIS);
    assert_true(rkb_fnv1a("bar", 3, first) == UINT64_C(0x85944171f73967e8));
}

static void test_mix64_gives_splitmix64(void **state)
{
    (void)state;
    /* The first outputs of splitmix64 with seed 1234567. */
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t want[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                             UINT64_C(9817491932198370423), UINT64_C(4593380528125082431)};
    uint64_t counter = 1234567;
    for (int i = 0; i < 4; i++) {
        counter += golden;
        assert_true(rkb_mix64(counter) == want[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_vectors),
        cmocka_unit_test(test_sha256_in_pieces),
        cmocka_unit_test(test_fields_do_not_run_together),
        unit_test_in_folder(test_sha256_file),
        cmocka_unit_test(test_fnv1a_vectors),
        cmocka_unit_test(test_mix64_gives_splitmix64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
