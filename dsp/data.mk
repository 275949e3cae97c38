# SPDX-License-Identifier: Apache-2.0
# The default taps: text files in dsp/data become arrays of the library. "taplag filter --no-data -o FILE" makes such a file.

TAPS_DATA := $(sort $(wildcard dsp/data/taps_*.txt))

$(B)/gen/taps_data.h: $(TAPS_DATA) dsp/data.awk dsp/data.mk
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)awk -f dsp/data.awk $(TAPS_DATA) > $@.part && mv $@.part $@

$(B)/obj/dsp/taps.o: $(B)/gen/taps_data.h
