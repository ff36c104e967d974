# SPDX-License-Identifier: MIT OR Apache-2.0
# `make run` and `make test` do everything, from a fresh clone on. Needed: a Rust toolchain, a C++
# compiler, make and Python 3.10 or newer; the rest goes into .tools/ and target/.

# The release profile is used throughout. Models of the machine are compiled by the commands that want them.
CARGO ?= cargo
PROFILE := --release --locked

# Clippy is the compiler of the tests: one pass lints and compiles.
LINTED := RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/tools/clippy-rustc

PREFIX ?= /usr/local

# Packages that `build` makes. Features of third-party crates follow from the packages that are chosen: with those of the tests, as CI
# has it, nothing is compiled for `build` again.
PRODUCT ?= -p gyre -p gyre-pami -p gyre-preload

# Random cases of tests are the same in every run; another seed draws others.
export PROPTEST_RNG_SEED ?= 1

.PHONY: run test deep test-times test-see test-mpi fuzz conformance build setup setup-verilator setup-formal setup-area mpi lint syn syn-all area area-check formal formal-bounded csr csr-check cost-table requirements-tests fmt-check clippy unit unit-deep model-check install clean help

# Runs a trace of a real MPI program on a 2x2x2 torus; leaves the first message's waveform and a page for a browser in out/.
run: setup-verilator
	@mkdir -p out
	$(CARGO) run $(PROFILE) -- run lulesh --trace out/first-message.vcd --timeline out/run.html

# What a change must hold to. Checks of the design, one processor each, run beside the Rust ones.
test: setup
	@tools/lanes.sh "lint syn csr-check" "fmt-check unit"

# What `test` leaves out, an hour or so: tests that need models of their own, every interleaving of the driver's threads, proofs,
# every top in the synthesis front end, more random cases and programs, outside programs.
deep: setup setup-formal
	@tools/lanes.sh "unit-deep model-check syn-all formal-bounded fuzz conformance test-see"

# Seconds by target, by crate that is compiled and by test binary, compiling and running apart.
test-times: setup
	$(LINTED) tools/test_times.py csr-check fmt-check lint syn

# Cases of `fuzz`.
CASES ?= 10000

# Random stimuli against the RTL, some minutes on two cores; what is found lies in out/fuzz.
fuzz: build
	target/release/gyre fuzz --cases $(CASES) --threads 2

# Opens what the commands write in Chromium, Perfetto and GTKWave; tests without their program are skipped.
test-see: build
	@tools/see.sh
	tests/browser/run.sh

# Programs of MPI on the machine, with MPICH and Open MPI: benchmarks, tests of MPI for Python, NetPIPE, programs in C, failures.
test-mpi: build mpi
	tests/mpi/run.sh

# 1,000 random programs of the driver's users on the test double and on the RTL; `make test` runs the first 100.
conformance: setup-verilator
	$(LINTED) GYRE_PROGRAMS=1000 $(CARGO) test $(PROFILE) --workspace --test machine conformance

# The command, target/release/gyre, what C programs link with, target/release/libpami.so, and libfabric's provider for programs of
# MPI, alone in a folder, after a change in Rust; a change in rtl/ needs nothing.
build: setup-verilator
	$(CARGO) build $(PROFILE) $(PRODUCT)
	@mkdir -p target/release/libfabric
	@ln -sfn ../libgyre_fi.so target/release/libfabric/libgyre-fi.so

# Verilator, PeakRDL, pyosys and pyslang into .tools/.
setup:
	@tools/setup.sh

# Verilator alone: all that a build needs.
setup-verilator:
	@tools/setup.sh verilator

# MPICH, MPI for Python with its tests and demos, Open MPI, and NetPIPE, for programs of MPI under `gyre exec`, into .tools/.
mpi:
	@tools/setup.sh mpi

# What proofs need: pyosys, the solver and its driver.
setup-formal:
	@tools/setup.sh formal

# Every Verilator warning on the node in 1 to 5 dimensions and on the flat fabric; circles of imports in Rust.
lint: setup
	$(LINTED) tools/lint.sh
	tools/import_circles.py
	tools/prose.py
	tools/spdx.py --check
	tools/area_test.py

# Tools of `area`: pyosys, and nextpnr for ECP5.
setup-area:
	@tools/setup.sh area

# The design elaborates as hardware: no latch, no black box.
syn: setup
	tools/syn.py

# The same in 1, 3 and 5 dimensions, and of the flat fabric.
syn-all: setup
	tools/syn.py --all

# Units of `area`, by name; all of them if none is named.
UNITS ?=

# Takes an hour or two, then as long as what has changed. UNITS="NAME..." measures some and prints them; LIBERTY=DIR maps to the
# standard cells in DIR.
# Area and speed of every unit of the RTL on ECP5, into docs/area.md.
area: setup-area
	tools/area.py $(if $(UNITS)$(LIBERTY),$(UNITS),--write)

# The units that can be measured in minutes are as docs/area.md has them.
area-check: setup-area
	tools/area.py --check

# Properties of the leaf cells hold, and planted faults are refuted.
formal: setup-formal
	tools/formal.py

# The same within a bound, without the proofs beyond it: some minutes.
formal-bounded: setup-formal
	tools/formal.py --bounded

# Writes the register block, its Rust and its reference again from rtl/csr/gyre.rdl.
csr: setup
	tools/csr.sh

# The committed register block is what the description gives.
csr-check: setup
	tools/csr.sh --check

# Measures what driver operations cost and writes host-driver/driver/cost-table.toml; needs valgrind.
cost-table:
	$(CARGO) bench --locked -p gyre-driver --bench cost_table

# Lists all tests of each requirement.
requirements-tests:
	@tools/requirement_tests.py

# The Rust sources are formatted.
fmt-check:
	$(CARGO) fmt --all --check

# Every lint on the Rust sources, programs and tests included, without running anything; `unit` has them too.
clippy: setup-verilator
	$(CARGO) clippy $(PROFILE) --workspace --all-targets -- -D warnings

# Rust and RTL tests, to the end whatever fails; lints every crate as it is compiled, also what no test needs. Full models are for
# `unit-deep`.
unit: setup-verilator
	$(LINTED) $(CARGO) build $(PROFILE) --workspace --lib --bins --tests --bench cost_table
	$(LINTED) GYRE_MODEL=quick $(CARGO) test $(PROFILE) --workspace --no-fail-fast

# The tests that need models of their own: planted faults, full optimisation, counted lines.
unit-deep: setup-verilator
	$(LINTED) $(CARGO) test $(PROFILE) --workspace --no-fail-fast -- --ignored

# The driver's queues and locks, every interleaving of a few threads.
model-check:
	$(LINTED) $(CARGO) test $(PROFILE) --workspace --features gyre-driver/loom --test concurrency

# Installs the command, its libraries, the RTL, Verilator, completions and manual pages below PREFIX; DESTDIR comes before it.
install: build
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' tools/install.sh

# Removes what was built, models of the machine too; tools stay.
clean:
	$(CARGO) clean
	rm -rf out .tools/models

# Lists the targets.
help:
	@awk '/^#/ { text = substr($$0, 3) } /^[a-z-]+:/ { sub(":.*", ""); printf "%-18s %s\n", $$0, text; text = "" }' Makefile
