rkb_add_unit_test(test_rewrite SOURCES test_rewrite.c LIBS rkb_candidate)
rkb_add_unit_test(test_diagnose SOURCES test_diagnose.c LIBS rkb_candidate)
rkb_add_unit_test(test_compile SOURCES test_compile.c LIBS rkb_candidate TIMEOUT 180)
