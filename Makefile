# SPDX-License-Identifier: Apache-2.0
# taplag: build, test, install. Out of tree with B=dir; V=1 shows commands; DEPS=none|core|all says what may be installed.

B ?= build
V ?= 0
DEPS ?= core
STRICT ?= 0
EXCEPT ?=
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
ifeq ($(origin CC),default)
CC := gcc
endif
OPT ?= -O2
WERROR ?=
SANITIZE ?=
TAPLAG_CAPTURES ?= ../shared/captures
export TAPLAG_CAPTURES

ifeq ($(V),0)
Q := @
say = @printf '  %-7s %s\n' '$(1)' '$(2)'
else
Q :=
say = @:
endif

# ---- what is needed --------------------------------------------------------------------------------------------
PKG_CORE := sndfile jansson popt libcrypto libarchive zlib libconfig libzmq
PKG_SPECTRA := fftw3
# Built in where they are found.
PKG_OPTIONAL := libpcap
PKG_TEST := cmocka
APT_CORE := pkg-config libsndfile1-dev libfftw3-dev libjansson-dev libpopt-dev libssl-dev libarchive-dev zlib1g-dev \
            libconfig-dev libzmq3-dev libcmocka-dev gnuplot-nox libpcap-dev
# What only wide tests use: other compilers, sanitizers, other machines under emulation, peers, tools to check against.
APT_ALL := clang clang-format libclang-rt-14-dev g++ valgrind strace sox iverilog libxml2-utils man-db python3-numpy \
           python3-jsonschema qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu \
           libc6-dev-riscv64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross \
           libuhd-dev libswresample-dev libsoxr-dev libzita-resampler-dev libliquid-dev libsamplerate0-dev libomniorb4-dev omniidl
missing := $(shell for p in $(PKG_CORE) $(PKG_SPECTRA); do pkg-config --exists $$p 2>/dev/null || echo $$p; done)

have_pkg = $(shell pkg-config --exists $(1) 2>/dev/null && echo $(1))
OPTIONAL := $(foreach p,$(PKG_OPTIONAL),$(call have_pkg,$(p)))
PKG_CFLAGS := $(shell pkg-config --cflags $(OPTIONAL) $(PKG_CORE) $(PKG_SPECTRA) 2>/dev/null)
LIBS_CORE := $(shell pkg-config --libs sndfile jansson libconfig libcrypto libarchive zlib libzmq $(OPTIONAL) 2>/dev/null)
LIBS_SPECTRA := $(shell pkg-config --libs fftw3 2>/dev/null)
LIBS_CLI := $(shell pkg-config --libs popt 2>/dev/null)
LIBS_TEST := $(shell pkg-config --libs cmocka 2>/dev/null)

# ---- flags -----------------------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-align=strict -Wvla -Wformat=2
ifneq (,$(findstring clang,$(CC)))
WARN := $(filter-out -Wcast-align=strict,$(WARN)) -Wcast-align
endif
INCLUDES := -Idsp -Isim -Ivectors -Ireplay -Ireplay/files -Ireplay/pipeline -Ireplay/sinks -Ireplay/sources -Ireplay/wire -Ireplay/uhd -Icli -I$(B)/gen
override CPPFLAGS += -D_GNU_SOURCE $(INCLUDES) $(PKG_CFLAGS) $(if $(filter libpcap,$(OPTIONAL)),-DTLG_HAVE_PCAP)
# No contraction: a fused multiply-add would change results from machine to machine.
override CFLAGS += -std=c11 $(OPT) -g -fPIC -fvisibility=hidden -ffp-contract=off -pthread $(WARN) $(WERROR) $(SANITIZE)
override LDFLAGS += -pthread $(SANITIZE)
LDLIBS := $(LIBS_CORE) -lm

# ---- sources ---------------------------------------------------------------------------------------------------
SPECTRA_SRC := $(wildcard dsp/spectr*.c dsp/lte_rx*.c dsp/lte_evm*.c)
LIB_SRC := $(filter-out $(SPECTRA_SRC),$(wildcard dsp/*.c)) \
           $(wildcard vectors/*.c sim/*.c replay/*.c replay/files/*.c replay/pipeline/*.c replay/sinks/*.c replay/sources/*.c replay/wire/*.c)
CLI_SRC := $(wildcard cli/*.c)
TEST_SRC := $(wildcard tests/test_*.c tests/check_*.c)
obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
LIB_OBJ := $(call obj,$(LIB_SRC))
SPECTRA_OBJ := $(call obj,$(SPECTRA_SRC))
CLI_OBJ := $(call obj,$(CLI_SRC))
TEST_BIN := $(patsubst tests/%.c,$(B)/tests/%,$(TEST_SRC))
LIB := $(B)/libtaplag.a
SPECTRA := $(B)/libtaplag-spectra.a
HEADERS := $(wildcard dsp/taplag.h dsp/tlg_*.h vectors/tlg_*.h sim/tlg_*.h replay/tlg_*.h)
VERSION := $(shell sed -n 's/.*TLG_VERSION "\(.*\)".*/\1/p' dsp/taplag.h)

all: $(B)/taplag $(B)/libtaplag.so $(B)/libtaplag-spectra.so extras data ## build the program and the libraries (default)

# An instruction-set file is the only one built with its flags.
ifneq (,$(findstring x86_64,$(shell $(CC) -dumpmachine)))
$(B)/obj/dsp/kernels_sse2.o: ISA := -msse4.1
$(B)/obj/dsp/kernels_avx2.o: ISA := -mavx2
$(B)/obj/dsp/kernels_avx512.o: ISA := -mavx512f -mavx512bw -mavx512vl -mavx512dq
$(B)/obj/dsp/kernels_vnni.o: ISA := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mavx512vbmi
endif

ifneq (,$(missing))
needed:
	@echo 'taplag: missing: $(missing). Install with:'
	@echo '  apt-get install $(APT_CORE)'
	@echo 'or run "make deps" (as root or with sudo).'
	@false
else
needed:
endif
.PHONY: needed

# Rebuild everything when the flags change.
$(B)/flags: force | needed
	@mkdir -p $(B)
	@echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)' > $@
.PHONY: force

$(B)/obj/%.o: %.c $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(ISA) -MMD -MP -c $< -o $@

$(LIB): $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(SPECTRA): $(SPECTRA_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/libtaplag.so: $(LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtaplag.so.0 $(LDFLAGS) $^ $(LDLIBS) -o $@

$(B)/libtaplag-spectra.so: $(SPECTRA_OBJ) $(B)/libtaplag.so
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtaplag-spectra.so.0 $(LDFLAGS) $(SPECTRA_OBJ) -L$(B) -ltaplag $(LIBS_SPECTRA) -lm -o $@

$(B)/taplag: $(CLI_OBJ) $(SPECTRA) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS_CLI) $(LIBS_SPECTRA) $(LDLIBS) -o $@

$(B)/tests/%: tests/%.c $(SPECTRA) $(LIB) $(B)/flags
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) -MMD -MP -MF $(B)/tests/$*.d $< $(filter %.o,$^) $(SPECTRA) $(LIB) $(TEST_LDFLAGS) $(LIBS_TEST) $(LIBS_SPECTRA) $(LDLIBS) -o $@

-include $(wildcard $(B)/obj/*/*.d $(B)/obj/*/*/*.d $(B)/tests/*.d)
include $(wildcard tests/*.mk cli/*.mk dsp/*.mk replay/*/*.mk)

extras: $(EXTRAS) $(PLUGINS)
# Data stand beside the binary under the names by which it looks for them.
data: $(B)/vectors $(B)/sim
$(B)/vectors: | $(B)/taplag
	$(Q)ln -sfn $(CURDIR)/vectors $@
$(B)/sim: | $(B)/taplag
	$(Q)ln -sfn $(CURDIR)/sim $@
$(B)/obj/cli/data.o $(B)/obj/replay/uhd_loader.o: override CPPFLAGS += -DTAPLAG_PREFIX='"$(PREFIX)"'
.PHONY: extras data

# ---- checks ----------------------------------------------------------------------------------------------------
tests: $(TEST_BIN) $(B)/taplag extras data ## build the tests
check: deps ## build and run all tests (STRICT=1: skips are failures)
	@$(MAKE) --no-print-directory run-tests
run-tests: tests
	@B=$(B) STRICT=$(STRICT) EXCEPT='$(EXCEPT)' tests/run.sh

# Tests that build what they run by compilers of their own choice: another build of the program changes nothing in them.
OWN_BUILDS := _bytes mutants neon slurm
asan := -fsanitize=address -fno-omit-frame-pointer
ubsan := -fsanitize=undefined -fno-sanitize-recover=undefined
sanitized = $(MAKE) --no-print-directory B=$(B)-$(1) OPT=-O1 SANITIZE='$(2)' EXCEPT='$(OWN_BUILDS)' run-tests
check-asan: deps ## the tests under AddressSanitizer
	@$(call sanitized,asan,$(asan))
check-ubsan: deps ## the tests under UndefinedBehaviorSanitizer
	@$(call sanitized,ubsan,$(ubsan))
check-sanitize: deps ## both at once, as CI does
	@$(call sanitized,sanitize,$(asan) $(ubsan))
.PHONY: all tests check run-tests check-asan check-ubsan check-sanitize demo deps bench format install man clean help

deps: ## install what is missing through apt-get (DEPS=none: never; DEPS=all: also what the wide tests use)
ifneq ($(DEPS),none)
	@B=$(B) tests/deps.sh $(APT_CORE) $(if $(filter all,$(DEPS)),$(APT_ALL))
endif

demo: deps ## the main job, end to end
	@$(MAKE) --no-print-directory all
	@B=$(B) tests/demo.sh

install: all ## install under PREFIX (DESTDIR is honoured)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/taplag \
	  $(DESTDIR)$(PREFIX)/libexec/taplag $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(B)/taplag $(DESTDIR)$(PREFIX)/bin/taplag
	for e in $(EXTRAS); do install -m 755 $$e $(DESTDIR)$(PREFIX)/libexec/taplag/; done
	install -m 644 $(LIB) $(SPECTRA) $(DESTDIR)$(PREFIX)/lib/
	for l in libtaplag libtaplag-spectra; do \
	  install -m 755 $(B)/$$l.so $(DESTDIR)$(PREFIX)/lib/$$l.so.0 && ln -sf $$l.so.0 $(DESTDIR)$(PREFIX)/lib/$$l.so; done
	install -m 644 $(HEADERS) $(DESTDIR)$(PREFIX)/include/taplag/
	install -d $(DESTDIR)$(PREFIX)/share/taplag/vectors/crc
	install -d $(DESTDIR)$(PREFIX)/share/taplag/sim/scenarios
	install -m 644 sim/scenarios/*.cfg $(DESTDIR)$(PREFIX)/share/taplag/sim/scenarios/
	install -m 644 vectors/*.json $(DESTDIR)$(PREFIX)/share/taplag/vectors/
	install -m 644 vectors/crc/*.txt $(DESTDIR)$(PREFIX)/share/taplag/vectors/crc/
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@OPTIONAL@|$(OPTIONAL)|' cli/taplag.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/taplag.pc
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' cli/taplag-spectra.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/taplag-spectra.pc
	cli/man.sh $(B)/taplag > $(DESTDIR)$(PREFIX)/share/man/man1/taplag.1
	for p in $(PLUGINS); do install -d $(DESTDIR)$(PREFIX)/lib/taplag && install -m 755 $$p $(DESTDIR)$(PREFIX)/lib/taplag/; done

man: $(B)/taplag ## write the manual page, made from the program's own help
	cli/man.sh $(B)/taplag > $(B)/taplag.1

bench: all ## speed, side by side
	$(B)/taplag bench kernels

format: ## clang-format the tree
	clang-format -i $$(git ls-files '*.c' '*.h')

clean: ## remove the build folder
	rm -rf $(B) $(B)-clang $(B)-asan $(B)-ubsan $(B)-sanitize $(B)-tsan

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1\t/' | expand -t 16
