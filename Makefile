# Thin front of CMake. Every target first installs what is missing (see cmake/install-dependencies).
BUILD ?= build
JOBS ?= $(shell nproc)
RUN ?= results/runs/demo
# Which tests check-asan runs.
ASAN_TESTS ?= -LE 'bench|long|gpu'

.PHONY: all deps build demo check check-asan bench gpu-check install clean help

all: build

help:
	@echo "make build      install what is missing and build into $(BUILD)/"
	@echo "make demo       build, then judge the sample kernels with 4 MPI ranks into $(RUN)/"
	@echo "make check      build, then run all tests"
	@echo "make check-asan the same under AddressSanitizer and UBSan, into build-asan/"
	@echo "make bench      build, then run the benchmarks (label bench)"
	@echo "make install    install under PREFIX (default /usr/local)"

deps:
	@cmake/install-dependencies

$(BUILD)/CMakeCache.txt: | deps
	cmake -S . -B $(BUILD) -G Ninja

build: deps $(BUILD)/CMakeCache.txt
	cmake --build $(BUILD) -j $(JOBS)

demo: deps $(BUILD)/CMakeCache.txt
	cmake --build $(BUILD) -j $(JOBS) --target programs
	BUILD=$(BUILD) RUN=$(RUN) cmake/run-demo

check: build
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -LE 'bench|long|gpu'

check-asan: deps
	cmake -S . -B build-asan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DRKB_SANITIZE=ON -DRKB_WERROR=ON
	cmake --build build-asan -j $(JOBS)
	ctest --test-dir build-asan --output-on-failure -j $(JOBS) $(ASAN_TESTS)

bench: build
	ctest --test-dir $(BUILD) --verbose -L bench

gpu-check: build
	ctest --test-dir $(BUILD) --output-on-failure -L gpu

install: build
	cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

clean:
	rm -rf build build-asan build-dev
