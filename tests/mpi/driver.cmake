# The driver with a scripted evaluator in the place of `rkb serve`.
add_executable(fake_evaluator fake_evaluator.c)
target_link_libraries(fake_evaluator PRIVATE rkb_common)
set_target_properties(fake_evaluator PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
