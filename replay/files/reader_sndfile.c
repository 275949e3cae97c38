/* SPDX-License-Identifier: Apache-2.0 */
/* WAV, RF64, W64, AU, FLAC and others by libsndfile. */
#include "reader.h"

int tlg_reader_open_sndfile(struct tlg_reader *r, const char *path, struct tlg_error *err)
{
  (void)r;
  (void)path;
  return tlg_error_set(err, TLG_EUNAVAIL, "this kind of file is not read yet");
}
