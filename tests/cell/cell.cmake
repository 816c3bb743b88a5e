rkb_add_unit_test(test_cell_pure SOURCES test_cell_pure.c LIBS rkb_cell_host m)
rkb_add_unit_test(test_cell SOURCES test_cell.c scene.c LIBS rkb_cell_host m
  TIMEOUT 180 LABELS cell)
rkb_add_unit_test(test_cell_hostile SOURCES test_cell_hostile.c scene.c LIBS rkb_cell_host m
  TIMEOUT 180 LABELS cell)
add_dependencies(test_cell_hostile test_cell) # which brings all modules

add_executable(cell_orphan orphan.c)
target_link_libraries(cell_orphan PRIVATE rkb_flags rkb_cell_host)
set_target_properties(cell_orphan PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(test_cell rkb-cell rkb_torch cell_orphan)

# The jail must hold without Landlock, too.
add_executable(cell_without_landlock without_landlock.c)
target_link_libraries(cell_without_landlock PRIVATE rkb_flags PkgConfig::SECCOMP)
set_target_properties(cell_without_landlock PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
rkb_add_script_test(test_cell_without_landlock COMMAND cell_without_landlock
  $<TARGET_FILE:test_cell_hostile> TIMEOUT 180 LABELS cell)

# No rkb_flags in candidates: a sanitizer would catch a deed before the cell does.
add_library(cell_attacks OBJECT hostile_attacks.c)
target_compile_options(cell_attacks PRIVATE -Wall -Wextra)
target_include_directories(cell_attacks PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(cell_attacks PRIVATE _GNU_SOURCE)

# rkb_add_hostile(name definitions...): a candidate; its symbols of the runtime come from rkb-cell.
function(rkb_add_hostile name)
  add_library(cell_module_${name} MODULE hostile.c $<TARGET_OBJECTS:cell_attacks>)
  target_compile_options(cell_module_${name} PRIVATE -Wall -Wextra)
  target_include_directories(cell_module_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(cell_module_${name} PRIVATE _GNU_SOURCE ${ARGN})
  set_target_properties(cell_module_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cell/modules)
  add_dependencies(test_cell cell_module_${name})
endfunction()

rkb_add_hostile(hostile)
foreach(_deed exits segfault hangs floods forks closes_everything)
  rkb_add_hostile(at_load_${_deed} CONSTRUCTOR=deed_${_deed})
endforeach()
rkb_add_hostile(throwing_module MODULE_ERROR="the body threw")
rkb_add_hostile(other_abi MODULE_ABI=99)

# A shared object that is no candidate.
add_library(cell_module_plain MODULE fake_cell.c)
target_link_libraries(cell_module_plain PRIVATE rkb_flags)
target_compile_definitions(cell_module_plain PRIVATE MODE=HANGS)
set_target_properties(cell_module_plain PROPERTIES PREFIX "" OUTPUT_NAME plain
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cell/modules)
add_dependencies(test_cell cell_module_plain)

# Installations whose rkb-cell does not do as it should.
foreach(_mode HANGS LEAVES OTHER_VERSION OTHER_ABI OVERTAKES)
  string(TOLOWER fake_${_mode} _name)
  add_executable(cell_${_name} fake_cell.c)
  target_link_libraries(cell_${_name} PRIVATE rkb_flags)
  target_compile_definitions(cell_${_name} PRIVATE MODE=${_mode})
  set_target_properties(cell_${_name} PROPERTIES OUTPUT_NAME rkb-cell
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cell/${_name}/bin)
  add_dependencies(test_cell cell_${_name})
endforeach()

# Both try the same files under /tmp.
set_tests_properties(test_cell_hostile test_cell_without_landlock PROPERTIES
  RESOURCE_LOCK rkb_hostile_files)
