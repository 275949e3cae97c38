# SPDX-License-Identifier: Apache-2.0
# The test of the resampler counts allocations: the library's calls of the allocator go through it.

$(B)/tests/test_resamp: LDLIBS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free
