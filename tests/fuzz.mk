# SPDX-License-Identifier: Apache-2.0
# make fuzz: every parser's target under libFuzzer (clang) for FUZZ_SECONDS each, starting from tests/fuzz/seeds/NAME if
# there are any. Everything is built anew in its own folder, with AddressSanitizer and UBSan and the coverage libFuzzer needs.

FUZZ_SECONDS ?= 20
FUZZ_CC ?= clang
FUZZ_NAMES := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

fuzz: ## every parser under libFuzzer (clang): FUZZ_SECONDS=20 each
	@command -v $(FUZZ_CC) >/dev/null || { echo 'taplag: make fuzz needs clang: apt-get install clang'; false; }
	@$(MAKE) --no-print-directory CC=$(FUZZ_CC) B=$(B)-fuzz OPT=-O1 \
	  SANITIZE='-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined' run-fuzz

run-fuzz: $(FUZZ_NAMES:%=$(B)/fuzz/%)
	@for name in $(FUZZ_NAMES); do \
	  mkdir -p $(B)/fuzz/corpus/$$name; seeds=; [ ! -d tests/fuzz/seeds/$$name ] || seeds=tests/fuzz/seeds/$$name; \
	  echo "  FUZZ    $$name, $(FUZZ_SECONDS) s"; \
	  $(B)/fuzz/$$name -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -artifact_prefix=$(B)/fuzz/$$name- \
	    $(B)/fuzz/corpus/$$name $$seeds >$(B)/fuzz/$$name.log 2>&1 || { tail -n 40 $(B)/fuzz/$$name.log; exit 1; }; \
	  tail -n 1 $(B)/fuzz/$$name.log; \
	done

$(B)/fuzz/%: tests/fuzz/%.c $(LIB) $(B)/flags
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) -fsanitize=fuzzer $< $(LIB) $(LDLIBS) -o $@
.PHONY: fuzz run-fuzz
