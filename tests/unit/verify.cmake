rkb_add_unit_test(test_verify SOURCES test_verify.c LIBS rkb_verify m)
rkb_add_unit_test(test_verify_values SOURCES test_verify_values.c LIBS rkb_verify m)
rkb_add_unit_test(test_verify_layout SOURCES test_verify_layout.c LIBS rkb_verify m)

# Simulates kernels and prints docs/judging.md's table; no cmocka.
add_executable(calibrate_verify calibrate_verify.c)
target_link_libraries(calibrate_verify PRIVATE rkb_flags rkb_verify m)
set_target_properties(calibrate_verify PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME calibrate_verify COMMAND calibrate_verify 2)
set_tests_properties(calibrate_verify PROPERTIES TIMEOUT 120 LABELS unit)
