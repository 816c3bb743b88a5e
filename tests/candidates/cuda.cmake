# The execution model and the CUDA headers, by small .cu files (tests/candidates/cuda).
add_executable(rkb_cuda_harness ${CMAKE_CURRENT_LIST_DIR}/cuda/harness.c)
target_link_libraries(rkb_cuda_harness PRIVATE rkb_flags rkb_candidate
  -Wl,--whole-archive rkb_cpu_model -Wl,--no-whole-archive ${CMAKE_DL_LIBS} m)
set_target_properties(rkb_cuda_harness PROPERTIES ENABLE_EXPORTS ON
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
file(GLOB _sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/cuda/*.cu)
foreach(_source ${_sources})
  get_filename_component(_name ${_source} NAME_WE)
  rkb_add_script_test(cuda_${_name} TIMEOUT 90 LABELS candidates
    COMMAND rkb_cuda_harness ${_source} ${CMAKE_BINARY_DIR}/tests/cache)
endforeach()
rkb_add_script_test(bench_cuda_switches TIMEOUT 90 LABELS bench
  COMMAND rkb_cuda_harness ${CMAKE_CURRENT_LIST_DIR}/cuda/bench/switches.cu
  ${CMAKE_BINARY_DIR}/tests/cache)
