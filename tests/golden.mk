# SPDX-License-Identifier: Apache-2.0
# Programs that the tests of the golden vectors run.

tests: $(B)/wrong_resampler

$(B)/wrong_resampler: tests/wrong_resampler.c $(B)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $< -lm -o $@
