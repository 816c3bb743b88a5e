foreach(_unit journal geomean report)
  rkb_add_unit_test(test_${_unit} SOURCES test_${_unit}.c LIBS rkb_results)
endforeach()
add_executable(report_tool report_tool.c)
target_link_libraries(report_tool PRIVATE rkb_results)
set_target_properties(report_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
rkb_add_script_test(report_schema LABELS unit
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/report_schema.py $<TARGET_FILE:report_tool>)
rkb_add_script_test(report_command LABELS unit
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/report_command.sh $<TARGET_FILE:report_tool>)
