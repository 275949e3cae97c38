/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: trace files, from bytes. */
#include "tlg_replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct tlg_trace_record record, last;
  struct tlg_trace_info info;
  struct tlg_error err;
  uint64_t i;

  if (tlg_trace_decode_header(&info, data, size, &err)) {
    return 0;
  }
  for (i = 0; i < info.n_records && TLG_TRACE_HEADER_BYTES + (i + 1) * TLG_TRACE_RECORD_BYTES <= size; i++) {
    if (tlg_trace_decode_record(&record, &info, data + TLG_TRACE_HEADER_BYTES + i * TLG_TRACE_RECORD_BYTES, i,
                                i ? &last : NULL, &err)) {
      return 0;
    }
    if (record.air > record.received || record.delivered > record.framed || !record.n_in) {
      __builtin_trap();
    }
    last = record;
  }
  return 0;
}
