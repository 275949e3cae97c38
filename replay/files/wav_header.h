/* SPDX-License-Identifier: Apache-2.0 */
/* Inside replay/files/: what the headers of WAV, RF64, BW64, W64 and AU files say, against what the file holds. */
#ifndef WAV_HEADER_H
#define WAV_HEADER_H

#include "reader.h"

#define WAV_OPEN_LENGTH UINT64_MAX

struct wav_header {
  enum tlg_container container;
  int bw64;
  int big_endian;         /* samples */
  enum tlg_format format; /* UNKNOWN: a type that is no plain IQ (mu-law, ADPCM, ...) */
  unsigned channels;      /* as the header counts them: two make one of I and Q */
  uint64_t rate_hz;       /* 0 = not stated */
  uint64_t data_offset;   /* first byte of the samples */
  uint64_t data_bytes;    /* as stated; WAV_OPEN_LENGTH = left open */
  uint64_t data_here;     /* from data_offset to the end of the file */
  int chunks_follow;      /* what stands after the stated data are chunks, to the end of the file */
  double frequency_hz;    /* auxi chunk; NaN = none */
  char datetime[40];      /* likewise; "" = none */
  char next_file[100];    /* likewise: the recording goes on there */
};

/* Walk the header of fd, a file of size bytes. TLG_EUNAVAIL: it is no file of these kinds; TLG_EFORMAT: damaged, or
 * without samples. */
int tlg_wav_header(struct wav_header *h, int fd, uint64_t size, struct tlg_error *err);

/* AIFF and CAF, which are left to libsndfile: 1 if a chunk reaches past the end of the file (its name goes to id), as
 * libsndfile reads what is left without a word. */
int tlg_chunks_cut(int fd, uint64_t size, char id[5]);

#endif
