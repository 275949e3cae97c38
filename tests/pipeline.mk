# SPDX-License-Identifier: Apache-2.0
# The pipeline's tests: one of them counts allocations; ThreadSanitizer runs those that use threads.
COUNTING_MALLOC := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc
$(B)/tests/test_pipeline: TEST_LDFLAGS := $(COUNTING_MALLOC)

check-tsan: deps ## the pipeline's tests under ThreadSanitizer
	@$(MAKE) --no-print-directory B=$(B)-tsan OPT=-O1 SANITIZE='-fsanitize=thread' run-tsan
run-tsan: $(B)/taplag $(B)/tests/test_ring $(B)/tests/test_pace $(B)/tests/test_pipeline
	@B=$(B) STRICT=$(STRICT) tests/run.sh test_ring test_pace test_pipeline cli/replay
.PHONY: check-tsan run-tsan
