# SPDX-License-Identifier: Apache-2.0
# The omniORB helper of 'taplag bench hops': C++, a program of its own, built where omniORB and its IDL compiler are.

HAVE_OMNIORB := $(and $(shell pkg-config --exists omniORB4 2>/dev/null && echo yes),$(shell command -v omniidl),$(shell command -v $(CXX)))
ifneq (,$(HAVE_OMNIORB))
EXTRAS += $(B)/bench-omniorb

$(B)/gen/omniorb/hop.hh: tests/omniorb/hop.idl
	$(call say,IDL,$<)
	@mkdir -p $(@D)
	$(Q)omniidl -bcxx -C$(@D) $<

$(B)/bench-omniorb: tests/omniorb/bench_omniorb.cc $(B)/gen/omniorb/hop.hh $(B)/flags
	$(call say,CXX,$@)
	$(Q)$(CXX) -std=c++17 $(OPT) -g -pthread -Wall -Wextra -isystem $(B)/gen/omniorb $< $(B)/gen/omniorb/hopSK.cc \
	  $$(pkg-config --cflags --libs omniORB4) -o $@
endif
