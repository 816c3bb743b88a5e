# The real programs over the sample candidates.
rkb_add_script_test(sweep_ranks COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/sweep_ranks.sh
  TIMEOUT 900 PROCESSORS 2 LABELS mpi)
rkb_add_script_test(sweep_kill COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/sweep_kill.py 2
  TIMEOUT 1200 PROCESSORS 2 LABELS mpi)
rkb_add_script_test(sweep_kill_long
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/sweep_kill.py 10
  TIMEOUT 3600 PROCESSORS 2 LABELS long)
rkb_add_script_test(sweep_seeds_long COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/sweep_seeds.sh 20
  TIMEOUT 3600 PROCESSORS 2 LABELS long)
