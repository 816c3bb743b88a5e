add_executable(process_helper process_helper.c)
target_link_libraries(process_helper PRIVATE rkb_common)
set_target_properties(process_helper PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

foreach(_unit error text hash json options file line_reader log)
  rkb_add_unit_test(test_${_unit} SOURCES test_${_unit}.c LIBS rkb_common)
endforeach()
rkb_add_unit_test(test_process SOURCES test_process.c LIBS rkb_common)
add_dependencies(test_process process_helper)
