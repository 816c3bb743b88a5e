# Warnings, sanitizers and floating-point rules shared by every target of rkb.
add_library(rkb_flags INTERFACE)
target_compile_options(rkb_flags INTERFACE
  -Wall -Wextra -Wshadow -Wpointer-arith -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
  # Counter-based streams and error statistics must give the same bits on every machine.
  -ffp-contract=off
  $<$<BOOL:${RKB_WERROR}>:-Werror>)
target_compile_definitions(rkb_flags INTERFACE _GNU_SOURCE RKB_VERSION="${PROJECT_VERSION}")
target_include_directories(rkb_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(RKB_SANITIZE)
  target_compile_options(rkb_flags INTERFACE -fsanitize=address,undefined
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(rkb_flags INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(rkb_flags INTERFACE RKB_SANITIZED=1)
endif()
