rkb_add_unit_test(test_scheduler SOURCES test_scheduler.c LIBS rkb_driver)
