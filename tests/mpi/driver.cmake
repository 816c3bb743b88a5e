# The driver with a scripted evaluator in the place of `rkb serve`.
add_executable(fake_evaluator fake_evaluator.c)
target_link_libraries(fake_evaluator PRIVATE rkb_common)
set_target_properties(fake_evaluator PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

rkb_add_script_test(include_rules LABELS unit
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/include_rules.sh ${CMAKE_SOURCE_DIR})
if(RKB_MPI)
  rkb_add_script_test(driver_links LABELS mpi
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/driver_links.sh $<TARGET_FILE:rkb-mpi>)
  foreach(_case ranks terminal crash kill drain lone_rank_killed folder usage strangers exit_codes)
    rkb_add_script_test(driver_${_case} PROCESSORS 2 TIMEOUT 180 LABELS mpi
      COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/driver_mpi.py ${_case})
  endforeach()
endif()
