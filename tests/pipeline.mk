# SPDX-License-Identifier: Apache-2.0
# The pipeline's tests: one of them counts allocations; ThreadSanitizer runs those that use threads.
COUNTING_MALLOC := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc
$(B)/tests/test_pipeline: TEST_LDFLAGS := $(COUNTING_MALLOC)

# What uses threads. libzmq is not instrumented: what it does itself is excused by tests/tsan.supp, what we do with messages
# that went through it is judged all the same, as tests/tsan_zmq.c tells the sanitizer when one is handed on.
# Left out: test_pipeline_live judges delays, which instrumented code cannot keep; cli/srsran takes minutes.
TSAN_TESTS := test_ring test_pace test_pipeline test_lane test_srsran test_zmq test_live_ test_dac \
              cli/replay cli/record cli/hops cli/zmq
TSAN_OPTIONS ?= suppressions=$(CURDIR)/tests/tsan.supp
ifneq (,$(findstring -fsanitize=thread,$(SANITIZE)))
$(B)/taplag $(TEST_BIN): $(B)/obj/tests/tsan_zmq.o
$(B)/taplag $(TEST_BIN): private LDLIBS += -Wl,--wrap=zmq_msg_send,--wrap=zmq_msg_recv
endif

check-tsan: deps ## what uses threads, under ThreadSanitizer
	@$(MAKE) --no-print-directory B=$(B)-tsan OPT=-O1 SANITIZE='-fsanitize=thread' run-tsan
run-tsan: $(B)/taplag data $(filter-out %_pipeline_live,$(filter $(patsubst %,$(B)/tests/%%,$(filter test_%,$(TSAN_TESTS))),$(TEST_BIN))) $(B)/tests/phy_client
	@B=$(B) STRICT=$(STRICT) TSAN_OPTIONS='$(TSAN_OPTIONS)' EXCEPT=pipeline_live tests/run.sh $(TSAN_TESTS)
.PHONY: check-tsan run-tsan
