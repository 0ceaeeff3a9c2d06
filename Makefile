# Thin front of CMake. `make` builds build/heddle and its runtime; `make help` lists the rest.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_ARGS ?=

.PHONY: all
all: ; @scripts/build $(BUILD) $(CMAKE_ARGS)
