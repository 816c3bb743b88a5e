# With clang and RKB_SANITIZE these are libFuzzer programs (run them with a corpus folder to search
# for more); otherwise, and in CTest always, they replay their corpora.
if(CMAKE_C_COMPILER_ID MATCHES Clang AND RKB_SANITIZE)
  # The search follows branches of the code under test, so that has to count them.
  target_compile_options(rkb_common PRIVATE -fsanitize=fuzzer-no-link)
  target_compile_options(rkb_results PRIVATE -fsanitize=fuzzer-no-link)
endif()
foreach(_fuzz json journal)
  add_executable(fuzz_${_fuzz} fuzz_${_fuzz}.c)
  target_link_libraries(fuzz_${_fuzz} PRIVATE rkb_results)
  set_target_properties(fuzz_${_fuzz} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND RKB_SANITIZE)
    target_compile_options(fuzz_${_fuzz} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${_fuzz} PRIVATE -fsanitize=fuzzer)
    set(_replay -runs=0 -error_exitcode=1) # 77, its default, would read as skipped
  else()
    target_sources(fuzz_${_fuzz} PRIVATE replay_main.c)
    set(_replay)
  endif()
  rkb_add_script_test(fuzz_${_fuzz}_corpus LABELS fuzz
    COMMAND fuzz_${_fuzz} ${_replay} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${_fuzz})
endforeach()
