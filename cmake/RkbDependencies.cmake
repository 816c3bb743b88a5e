# Dependencies come from the system's packages; nothing is downloaded or vendored.
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto) # SHA-256
find_package(Threads REQUIRED)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
if(RKB_MPI)
  find_package(MPI REQUIRED COMPONENTS C)
endif()
if(RKB_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

# libtorch: RKB_TORCH_DIR (the folder that holds include/ and lib/), then Debian's libtorch-dev,
# then the torch that python3 can import.
set(RKB_TORCH_DIR "$ENV{RKB_TORCH_DIR}" CACHE PATH "folder of libtorch: include/ and lib/ below it")
include(RkbTorch)
