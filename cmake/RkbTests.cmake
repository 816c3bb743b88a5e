# rkb_add_unit_test(NAME sources... LIBS libs... [TIMEOUT s] [LABELS l...])
# A cmocka program; CMOCKA_MESSAGE_OUTPUT stays at its default so that failures are readable.
function(rkb_add_unit_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE rkb_flags PkgConfig::CMOCKA ${A_LIBS})
  target_compile_definitions(${name} PRIVATE
    RKB_SOURCE_DIR="${CMAKE_SOURCE_DIR}" RKB_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 60)
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}")
endfunction()

# rkb_add_script_test(NAME COMMAND... [TIMEOUT s] [PROCESSORS n] [LABELS l...])
# A program that exits 0 (passed), 77 (cannot run here, and prints why) or anything else (failed).
function(rkb_add_script_test name)
  cmake_parse_arguments(A "" "TIMEOUT;PROCESSORS" "COMMAND;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${A_COMMAND})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  if(NOT A_PROCESSORS)
    set(A_PROCESSORS 1)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} PROCESSORS ${A_PROCESSORS}
    LABELS "${A_LABELS}" SKIP_RETURN_CODE 77
    ENVIRONMENT "RKB_SOURCE_DIR=${CMAKE_SOURCE_DIR};RKB_BINARY_DIR=${CMAKE_BINARY_DIR}")
endfunction()
