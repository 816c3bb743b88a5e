# Defines the imported target rkb_torch_dep: include folders and libraries of libtorch (CPU part).
# TorchConfig.cmake is not used: it insists on CUDA development files where torch was built with CUDA.
set(_hints)
if(RKB_TORCH_DIR)
  set(_hints ${RKB_TORCH_DIR})
else()
  if(EXISTS /usr/include/torch/csrc/autograd/autograd.h)
    set(_hints /usr)
  else()
    find_program(RKB_PYTHON3 python3)
    if(RKB_PYTHON3)
      execute_process(
        COMMAND ${RKB_PYTHON3} -c "import torch,os;print(os.path.dirname(torch.__file__))"
        OUTPUT_VARIABLE _hints OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endif()
endif()
if(NOT _hints)
  message(FATAL_ERROR "libtorch was not found: install libtorch-dev, or set RKB_TORCH_DIR to the "
    "folder that holds include/torch and lib/libtorch.so, or make python3 able to import torch")
endif()
find_path(RKB_TORCH_INCLUDE torch/csrc/autograd/autograd.h
  HINTS ${_hints} PATH_SUFFIXES include NO_DEFAULT_PATH REQUIRED)
find_library(RKB_TORCH_CPU torch_cpu HINTS ${_hints}
  PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH REQUIRED)
find_library(RKB_TORCH_C10 c10 HINTS ${_hints}
  PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH REQUIRED)
add_library(rkb_torch_dep INTERFACE)
target_include_directories(rkb_torch_dep SYSTEM INTERFACE ${RKB_TORCH_INCLUDE})
target_link_libraries(rkb_torch_dep INTERFACE ${RKB_TORCH_CPU} ${RKB_TORCH_C10})
get_filename_component(RKB_TORCH_LIBDIR ${RKB_TORCH_CPU} DIRECTORY)
message(STATUS "libtorch: ${RKB_TORCH_CPU}")
