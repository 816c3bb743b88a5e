rkb_add_unit_test(test_task_expr SOURCES test_task_expr.c LIBS rkb_task)
rkb_add_unit_test(test_task_parse SOURCES test_task_parse.c LIBS rkb_task)
rkb_add_unit_test(test_task_random SOURCES test_task_random.c LIBS rkb_task m)
rkb_add_unit_test(test_task_files SOURCES test_task_files.c LIBS rkb_task)
rkb_add_script_test(test_task_schema LABELS unit
  COMMAND /usr/bin/python3 -W ignore ${CMAKE_CURRENT_SOURCE_DIR}/test_task_schema.py)
