# Thin front of CMake. `make` builds build/heddle and its runtime; `make help` lists the rest.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CMAKE_ARGS ?=
# Only tests whose name contains this: make test PATTERN=cli/cc
PATTERN ?=
# For the benchmarks: make bench ARGS=--quick
ARGS ?=

export BUILD

.PHONY: all demo test test-full bench bench-real install package uninstall debug sanitize fuzz lint format \
        deps clean help

all:
	@scripts/deps --check build
	@scripts/build $(BUILD) -DCMAKE_BUILD_TYPE=Release $(CMAKE_ARGS)

demo:
	@scripts/deps build
	@scripts/build -q $(BUILD) -DCMAKE_BUILD_TYPE=Release $(CMAKE_ARGS)
	@scripts/demo/run $(BUILD)

test:
	@scripts/deps test
	@scripts/test $(PATTERN)

test-full:
	@scripts/deps test
	@HEDDLE_TEST_FULL=1 scripts/test $(PATTERN)

bench: all
	@scripts/deps bench
	@scripts/bench record $(ARGS)
	@scripts/bench predict $(ARGS)
	@HEDDLE=$(BUILD)/heddle bench/predict/nondet
	@scripts/bench expose $(ARGS)
	@scripts/bench explore $(ARGS)
	@HEDDLE=$(BUILD)/heddle bench/lint/run --no-project

bench-real: all
	@scripts/deps bench
	@scripts/bench real $(ARGS)

install: all
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

package: all
	@scripts/deps package
	@cpack --config $(BUILD)/CPackConfig.cmake -B $(BUILD)/package

uninstall:
	@test -f $(BUILD)/install_manifest.txt || { echo "make uninstall: nothing was installed from $(BUILD)"; exit 2; }
	@while read -r file || [ -n "$$file" ]; do rm -fv "$(DESTDIR)$$file"; done < $(BUILD)/install_manifest.txt

debug:
	@scripts/deps --check build
	@scripts/build build-debug -DCMAKE_BUILD_TYPE=Debug $(CMAKE_ARGS)

sanitize:
	@scripts/deps --check build
	@scripts/build build-sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHEDDLE_SANITIZE=ON $(CMAKE_ARGS)

fuzz:
	@scripts/deps test
	@scripts/fuzz $(PATTERN)

lint:
	@scripts/deps lint
	@scripts/lint

format:
	@scripts/deps lint
	@scripts/format

deps:
	@scripts/deps test

clean:
	rm -rf build build-debug build-sanitize build-fuzz

help:
	@sed -n 's/^#: //p' $(firstword $(MAKEFILE_LIST))

#: make             build build/heddle and build/libheddle_rt.so
#: make demo        install what is missing, build, and hunt down a bug that stress does not find
#: make test        install what is missing, run all tests in release and under ASan+UBSan
#:                  (PATTERN=cli/cc runs those whose name contains it)
#: make test-full   the same with the slow exhaustive runs
#: make bench       recording set beside ThreadSanitizer, Helgrind and DRD; prediction; exposing; exploring
#:                  (ARGS=--quick takes two minutes)
#: make bench-real  build and record real programs
#: make install     into PREFIX (default /usr/local), under DESTDIR if set; make uninstall
#: make package     build/package/heddle_VERSION_ARCHITECTURE.deb
#: make debug       build-debug/;  make sanitize: build-sanitize/
#: make fuzz        fuzz every parser for a minute each (libFuzzer)
#: make lint        clang-tidy, cppcheck;  make format: clang-format
#: make deps        only install what building and testing need
#: make clean       remove all build directories
