rkb_add_unit_test(test_cell_pure SOURCES test_cell_pure.c LIBS rkb_cell_host m)
rkb_add_unit_test(test_cell SOURCES test_cell.c LIBS rkb_cell_host m TIMEOUT 180 LABELS cell)

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
  $<TARGET_FILE:test_cell> TIMEOUT 180 LABELS cell)

# rkb_add_hostile(name definitions...): a candidate; its symbols of the runtime come from rkb-cell.
function(rkb_add_hostile name source)
  add_library(cell_module_${name} MODULE ${source})
  # No rkb_flags: a sanitizer would catch the deed before the cell does.
  target_compile_options(cell_module_${name} PRIVATE -Wall -Wextra)
  target_include_directories(cell_module_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(cell_module_${name} PRIVATE _GNU_SOURCE ${ARGN})
  set_target_properties(cell_module_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cell/modules)
  add_dependencies(test_cell cell_module_${name})
endfunction()

rkb_add_hostile(hostile hostile.c)
foreach(_deed exits segfault hangs floods forks closes_everything)
  rkb_add_hostile(at_load_${_deed} hostile.c CONSTRUCTOR=${_deed})
endforeach()
rkb_add_hostile(throwing_module hostile.c MODULE_ERROR="the body threw")
rkb_add_hostile(other_abi hostile.c MODULE_ABI=99)
rkb_add_hostile(plain fake_cell.c MODE=HANGS)

# rkb_add_fake_cell(name mode): an installation whose rkb-cell does not do as it should.
foreach(_mode HANGS LEAVES OTHER_VERSION OTHER_ABI OVERTAKES)
  string(TOLOWER fake_${_mode} _name)
  add_executable(cell_${_name} fake_cell.c)
  target_link_libraries(cell_${_name} PRIVATE rkb_flags)
  target_compile_definitions(cell_${_name} PRIVATE MODE=${_mode})
  set_target_properties(cell_${_name} PROPERTIES OUTPUT_NAME rkb-cell
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cell/${_name}/bin)
  add_dependencies(test_cell cell_${_name})
endforeach()
