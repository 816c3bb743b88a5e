rkb_add_unit_test(test_device SOURCES test_device.c LIBS rkb_device)
# The switch in assembly, and the portable one.
rkb_add_unit_test(test_fiber SOURCES test_fiber.c LIBS rkb_cpu_model m)
rkb_add_unit_test(test_fiber_ucontext
  SOURCES test_fiber.c ${CMAKE_SOURCE_DIR}/evaluator/device/cpu/fiber.c LIBS Threads::Threads m)
target_compile_definitions(test_fiber_ucontext PRIVATE RKB_FIBER_UCONTEXT=1)
