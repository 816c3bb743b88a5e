# The fake plugin of test_runtime_operators replaces rkb_torch_load(); the others never call it.
rkb_add_unit_test(test_runtime_heap SOURCES test_runtime_heap.c LIBS rkb_runtime)
rkb_add_unit_test(test_runtime_half SOURCES test_runtime_half.c LIBS m)
rkb_add_unit_test(test_runtime_tensor SOURCES test_runtime_tensor.c LIBS rkb_runtime m)
rkb_add_unit_test(test_runtime_operators SOURCES test_runtime_operators.c
  LIBS rkb_runtime rkb_common)
