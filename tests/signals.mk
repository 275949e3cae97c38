# SPDX-License-Identifier: Apache-2.0
# test_signals counts what the library allocates.
$(B)/tests/test_signals: private override CFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=posix_memalign
