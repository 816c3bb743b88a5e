rkb_add_script_test(eval_cli COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/eval_cli.py
  TIMEOUT 600 LABELS candidates)
