# SPDX-License-Identifier: Apache-2.0
# Programs that the tests of the golden vectors run.

tests: $(B)/wrong_resampler

$(B)/wrong_resampler: tests/wrong_resampler.c $(B)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $< -lm -o $@

check-matrix: all ## the golden vectors by every compiler and on every machine at hand (PART=ci: a part of it)
	@B=$(B) PART=$(PART) STRICT=$(STRICT) tests/matrix.sh
.PHONY: check-matrix
PART ?= all

$(B)/mutant_prepare: $(call obj,tests/mutant_prepare.c) $(LIB)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

check-mutants: all $(B)/mutant_prepare ## every generated fault in the resampler against the golden vectors
	@B=$(B) tests/mutants.sh
.PHONY: check-mutants
