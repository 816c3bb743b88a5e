rkb_add_unit_test(test_verify SOURCES test_verify.c LIBS rkb_verify m)
