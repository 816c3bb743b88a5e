# The light torch headers: programs that use them as candidates do, with the runtime linked in.
function(rkb_add_torch_test name)
  add_executable(${name} torch/${name}.cc)
  target_include_directories(${name} BEFORE PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/kernel_api/torch)
  target_include_directories(${name} SYSTEM BEFORE PRIVATE
    ${CMAKE_SOURCE_DIR}/evaluator/kernel_api/cuda)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/kernel_api)
  target_compile_definitions(${name} PRIVATE RKB_CPU=1 TORCH_EXTENSION_NAME=${name}
    __CUDACC__=1 __NVCC__=1 __CUDA_ARCH__=900)
  target_link_libraries(${name} PRIVATE rkb_flags PkgConfig::CMOCKA
    rkb_runtime rkb_cpu_model rkb_reference rkb_common ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS candidates
    ENVIRONMENT "RKB_TORCH_PLUGIN=$<TARGET_FILE:rkb_torch>")
endfunction()
foreach(_area tensor half pybind macros operators)
  rkb_add_torch_test(test_torch_${_area})
endforeach()

# Whole candidates in the styles that LLMs write, against operators of libtorch.
add_executable(rkb_torch_harness torch/harness.c)
target_link_libraries(rkb_torch_harness PRIVATE rkb_flags rkb_candidate
  -Wl,--whole-archive rkb_runtime rkb_cpu_model -Wl,--no-whole-archive
  rkb_reference rkb_common ${CMAKE_DL_LIBS} m)
set_target_properties(rkb_torch_harness PROPERTIES ENABLE_EXPORTS ON
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
file(GLOB _styles CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/torch/styles/*.cu)
foreach(_style ${_styles})
  get_filename_component(_name ${_style} NAME_WE)
  rkb_add_script_test(torch_style_${_name} TIMEOUT 90 LABELS candidates
    COMMAND ${CMAKE_COMMAND} -E env RKB_TORCH_PLUGIN=$<TARGET_FILE:rkb_torch>
      $<TARGET_FILE:rkb_torch_harness> ${_style} ${CMAKE_BINARY_DIR}/tests/cache)
endforeach()
