# SPDX-License-Identifier: Apache-2.0
# The comparison programs: built beside the program, linked into neither it nor the library.

EXTRAS += $(B)/bench-history
COMPARE_OBJ := $(call obj,tests/compare.c)
$(B)/obj/tests/%.o: override CPPFLAGS += -Itests -Itests/history -Itests/peers

$(B)/bench-history: $(call obj,tests/history/bench_history.c tests/history/history.c) $(COMPARE_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(B)/tests/test_history: override CPPFLAGS += -Itests/history
$(B)/tests/test_history: $(call obj,tests/history/history.c)
