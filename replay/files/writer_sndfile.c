/* SPDX-License-Identifier: Apache-2.0 */
/* WAV, RF64, W64, AU and FLAC by libsndfile. */
#include "writer.h"

int tlg_writer_open_sndfile(struct tlg_writer *w, const char *path, struct tlg_error *err)
{
  (void)w;
  (void)path;
  return tlg_error_set(err, TLG_EUNAVAIL, "this kind of file is not written yet");
}
