# As the other fuzz programs: libFuzzer under clang with RKB_SANITIZE, else a replay of the corpus.
add_executable(fuzz_rewrite ${CMAKE_CURRENT_LIST_DIR}/fuzz_rewrite.c)
target_link_libraries(fuzz_rewrite PRIVATE rkb_candidate)
set_target_properties(fuzz_rewrite PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
if(CMAKE_C_COMPILER_ID MATCHES Clang AND RKB_SANITIZE)
  target_compile_options(rkb_candidate PRIVATE -fsanitize=fuzzer-no-link)
  target_compile_options(fuzz_rewrite PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_rewrite PRIVATE -fsanitize=fuzzer)
  set(_replay -runs=0 -error_exitcode=1)
else()
  target_sources(fuzz_rewrite PRIVATE ${CMAKE_CURRENT_LIST_DIR}/replay_main.c)
  set(_replay)
endif()
rkb_add_script_test(fuzz_rewrite_corpus LABELS fuzz
  COMMAND fuzz_rewrite ${_replay} ${CMAKE_CURRENT_LIST_DIR}/corpus/rewrite
  ${CMAKE_CURRENT_LIST_DIR}/../candidates/cuda)
