# SPDX-License-Identifier: Apache-2.0
# The comparison programs: built beside the program, linked into neither it nor the library. A peer takes part where
# its library can be linked by this compiler.

EXTRAS += $(B)/bench-history $(B)/bench-peers
COMPARE_OBJ := $(call obj,tests/compare.c)
$(B)/obj/tests/%.o: private override CPPFLAGS += -Itests -Itests/history -Itests/peers

$(B)/bench-history: $(call obj,tests/history/bench_history.c tests/history/history.c) $(COMPARE_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(B)/tests/test_history: private override CPPFLAGS += -Itests/history
$(B)/tests/test_history: $(call obj,tests/history/history.c)

has_library = $(filter /%,$(shell $(CC) -print-file-name=lib$(1).so))
at_least = $(shell pkg-config --atleast-version=$(2) $(1) 2>/dev/null && echo yes)
PEER_SRC := $(if $(call has_library,swresample),$(if $(call at_least,libswresample,4.5),tests/peers/peer_swresample.c)) \
            $(if $(call has_library,soxr),tests/peers/peer_soxr.c) \
            $(if $(call has_library,liquid),tests/peers/peer_liquid.c) \
            $(if $(call has_library,samplerate),tests/peers/peer_samplerate.c)
have_cxx := $(shell command -v $(CXX))
PEER_CC := $(if $(have_cxx),$(if $(call has_library,zita-resampler),tests/peers/peer_zita.cc) \
             $(if $(call has_library,gnuradio-filter),$(if $(call at_least,gnuradio-filter,3.10),tests/peers/peer_gnuradio.cc)))
PEER_OBJ := $(call obj,$(PEER_SRC)) $(patsubst %.cc,$(B)/obj/%.o,$(PEER_CC))
PEER_LIBS := $(if $(filter %swresample.c,$(PEER_SRC)),-lswresample -lavutil) $(if $(filter %soxr.c,$(PEER_SRC)),-lsoxr) \
             $(if $(filter %liquid.c,$(PEER_SRC)),-lliquid) $(if $(filter %samplerate.c,$(PEER_SRC)),-lsamplerate) \
             $(if $(filter %zita.cc,$(PEER_CC)),-lzita-resampler) \
             $(if $(filter %gnuradio.cc,$(PEER_CC)),-lgnuradio-filter -lgnuradio-runtime -lvolk -lfmt) $(if $(strip $(PEER_CC)),-lstdc++)
PEER_DEFINES := $(if $(filter %swresample.c,$(PEER_SRC)),-DHAVE_SWRESAMPLE) $(if $(filter %soxr.c,$(PEER_SRC)),-DHAVE_SOXR) \
                $(if $(filter %liquid.c,$(PEER_SRC)),-DHAVE_LIQUID) $(if $(filter %samplerate.c,$(PEER_SRC)),-DHAVE_SAMPLERATE) \
                $(if $(filter %zita.cc,$(PEER_CC)),-DHAVE_ZITA) $(if $(filter %gnuradio.cc,$(PEER_CC)),-DHAVE_GNURADIO)

$(B)/obj/tests/peers/bench_peers.o: private override CPPFLAGS += $(PEER_DEFINES)
$(B)/obj/tests/peers/bench_peers.o: $(B)/peers-found
# Built anew when a library came or went.
$(B)/peers-found: force
	@mkdir -p $(B)
	@echo '$(PEER_SRC) $(PEER_CC)' | cmp -s - $@ || echo '$(PEER_SRC) $(PEER_CC)' > $@

$(B)/obj/%.o: %.cc $(B)/flags
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) $(OPT) -g -fPIC -pthread -Wall -Wextra -MMD -MP -c $< -o $@

$(B)/bench-peers: $(call obj,tests/peers/bench_peers.c tests/peers/tone_lines.c) $(PEER_OBJ) $(COMPARE_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(PEER_LIBS) $(LIBS_SPECTRA) $(LDLIBS) -o $@

$(B)/tests/test_tone_lines: private override CPPFLAGS += -Itests/peers
$(B)/tests/test_tone_lines: $(call obj,tests/peers/tone_lines.c) $(COMPARE_OBJ)
