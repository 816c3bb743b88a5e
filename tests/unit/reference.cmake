# librkb_torch.so is opened at run time, so the tests that use it wait for it to be built.
function(rkb_add_torch_test name)
  rkb_add_unit_test(${name} SOURCES ${name}.c LIBS ${ARGN} m)
  add_dependencies(${name} rkb_torch)
  set_property(TEST ${name} APPEND PROPERTY
    ENVIRONMENT "RKB_TORCH_PLUGIN=$<TARGET_FILE:rkb_torch>"
    "ASAN_OPTIONS=allocator_may_return_null=1") # allocations that must fail
endfunction()
rkb_add_torch_test(test_torch_boundary rkb_reference)
rkb_add_torch_test(test_reference_run rkb_reference)
rkb_add_torch_test(test_reference_tasks rkb_reference)
rkb_add_torch_test(test_tasks_commands rkb_task_commands)
rkb_add_torch_test(test_task_docs rkb_reference)
