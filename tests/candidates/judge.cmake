rkb_add_script_test(eval_cli COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/eval_cli.py
  TIMEOUT 600 LABELS candidates)
# Right kernels by people who had not seen the headers; and hostile ones among them.
rkb_add_script_test(zoo COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/adversaries.py zoo
  TIMEOUT 900 PROCESSORS 2 LABELS candidates)
rkb_add_script_test(adversaries_long
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/adversaries.py
  TIMEOUT 1800 PROCESSORS 2 LABELS long)
rkb_add_script_test(docs_examples COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/docs.py
  TIMEOUT 600 PROCESSORS 2 LABELS candidates)
rkb_add_script_test(installed COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/installed.sh LABELS candidates)
