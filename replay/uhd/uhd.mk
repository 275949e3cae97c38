# SPDX-License-Identifier: Apache-2.0
# taplag-uhd.so, the plug-in for radios: built where libuhd is, loaded by its name at run time. It alone links libuhd.

UHD_SRC := $(wildcard replay/uhd/*.c)
# libuhd alone: what its pkg-config file names beside it belongs to its C++ interface.
UHD_LIBS := $(shell pkg-config --atleast-version=4.0 uhd 2>/dev/null && echo $$(pkg-config --libs-only-L uhd) -luhd)
# Of the library's archive it takes what it needs and shows none of it.
uhd_link = $(CC) -shared $(LDFLAGS) -Wl,-z,defs -Wl,--exclude-libs,ALL $(filter %.o,$^) $(LIB) -o $@

ifneq (,$(UHD_LIBS))
PLUGINS += $(B)/taplag-uhd.so
$(B)/obj/replay/uhd/%.o: private override CPPFLAGS += $(shell pkg-config --cflags uhd)
else
extras: uhd-left-out
uhd-left-out:
	@echo '  taplag-uhd.so, the plug-in for radios, is left out: no libuhd >= 4.0 (apt-get install libuhd-dev)'
.PHONY: uhd-left-out
endif

$(B)/taplag-uhd.so: $(call obj,$(UHD_SRC)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(uhd_link) $(UHD_LIBS) -lm

# ---- tests: the same sources against a stand-in of libuhd, with its own declarations ------------------------------
STANDIN := $(B)/uhd-standin
standin_obj = $(patsubst %.c,$(STANDIN)/obj/%.o,$(1))
tests: $(STANDIN)/taplag-uhd.so $(if $(UHD_LIBS),$(STANDIN)/libuhd-standin.so)

$(STANDIN)/obj/%.o: %.c $(B)/flags
	$(call say,CC,$< (stand-in))
	@mkdir -p $(@D)
	$(Q)$(CC) -Itests/uhd_standin $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(STANDIN)/taplag-uhd.so: $(call standin_obj,$(UHD_SRC) tests/uhd_standin/uhd_standin.c) $(LIB)
	$(call say,LD,$@)
	$(Q)$(uhd_link) -lm

# To be put in front of the true libuhd, which has judged its declarations: compiled with libuhd's own headers.
$(STANDIN)/libuhd-standin.so: tests/uhd_standin/uhd_standin.c tests/uhd_standin/uhd_standin.h $(B)/flags
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(shell pkg-config --cflags uhd) -iquote tests/uhd_standin $(CFLAGS) $(LDFLAGS) -shared $< -o $@

$(B)/tests/test_uhd_time: $(call obj,replay/uhd/uhd_time.c)
-include $(wildcard $(STANDIN)/obj/*/*/*.d)
