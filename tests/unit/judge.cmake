rkb_add_unit_test(test_discover SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_discover.c LIBS rkb_judge)
rkb_add_unit_test(test_stats SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_stats.c LIBS rkb_timing)
if(RKB_MPI)
  rkb_add_script_test(architecture_states
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/architecture_states.py LABELS unit)
endif()
