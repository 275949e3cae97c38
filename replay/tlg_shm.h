/* SPDX-License-Identifier: Apache-2.0 */
/* Public interface: reading the shared-memory ring that the sink shm:NAME fills, from another process and in C. The
 * layout is here and in docs/live.md; whoever cannot link this library can follow it.
 *
 * One writer; any number of readers that map the memory for reading only and are overtaken ("lapped") if they are too
 * slow, which the counters tell; and one that the writer waits for, if it was started with block=1. All numbers are in
 * the byte order of the machine, all positions counted from the writer's start and never taken modulo anything. */
#ifndef TLG_SHM_H
#define TLG_SHM_H

#include "taplag.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the layout ------------------------------------------------------------------------------------------------- */

#define TLG_SHM_MAGIC 0x474c5453u /* "STLG" on a little-endian machine */
enum {
  TLG_SHM_VERSION = 1,
  TLG_SHM_HEADER_BYTES = 4096, /* the slots begin behind it */
  TLG_SHM_LIVE = 1,            /* state: the writer writes ... */
  TLG_SHM_ENDED = 2,           /* ... or has said its end: what is published is all there will be */
};
#define TLG_SHM_NO_TIME INT64_MIN

/* At the start of the memory (/dev/shm/NAME). Fields marked * change; they are read and written as atomics. */
struct tlg_shm_header {
  uint32_t magic, version;
  uint32_t header_bytes;       /* TLG_SHM_HEADER_BYTES */
  uint32_t slot_bytes;         /* from one slot to the next: a multiple of 64 */
  uint32_t slots;              /* a power of two */
  uint32_t slot_samples;       /* most samples of a slot */
  uint32_t stream;             /* drawn anew by each writer */
  uint32_t blocks;             /* 1: the writer waits for a reader that says so */
  uint64_t rate_num, rate_den; /* 0, 0 = not stated */
  int64_t start_ns;            /* time of sample 0 since 1970 UTC; TLG_SHM_NO_TIME = not stated */
  uint32_t unused_1[18];
  /* offset 128: the writer's line */
  uint32_t state;     /* * TLG_SHM_LIVE or TLG_SHM_ENDED */
  uint32_t wake;      /* * futex: grows whenever something was published, and at the end */
  uint64_t claimed;   /* * slots whose writing has begun: slot k is being overwritten once claimed > k + slots */
  uint64_t published; /* * slots that are complete: slot k may be read once published > k */
  uint32_t unused_2[26];
  /* offset 256: the line of the reader that is waited for */
  uint64_t taken;  /* * slots that it is done with */
  uint32_t reader; /* * 1: there is one */
  uint32_t room;   /* * futex: grows with `taken` */
};

/* Slot k stands at header_bytes + (k % slots) * slot_bytes; its samples follow it. */
struct tlg_shm_slot {
  uint64_t first;      /* number of its first sample; numbers between slots that are left out are missing samples */
  uint64_t left_out;   /* of the samples [0, first): those that the writer left out or was not given */
  uint64_t time_ps;    /* of its first sample since the stream's start: tlg_instant_ps(first, rate) */
  double frequency_hz; /* NaN = not stated */
  uint32_t n;          /* samples */
  uint32_t unused[7];
};

/* The writer holds an open-file-description lock (F_OFD_SETLK) on byte 0 of the file, the reader that is waited for one
 * on byte 1: both vanish with their processes, however these end. */
enum { TLG_SHM_LOCK_WRITER = 0, TLG_SHM_LOCK_READER = 1 };

/* ---- the reader ----------------------------------------------------------------------------------------------------
 */

struct tlg_shm; /* opaque; belongs to one thread at a time */

enum tlg_shm_flag {
  TLG_SHM_WAIT_FOR_ME = 1, /* be the reader that a writer with block=1 waits for */
  TLG_SHM_NEWEST = 2,      /* begin with what is published next, not with the oldest that is still there */
};

/* name as in shm:NAME. TLG_ESYS (no such memory; also one whose writer is dead), TLG_EFORMAT (not such a ring, or of
 * another version), TLG_EEXIST (somebody else is waited for), TLG_EINVAL, TLG_ENOMEM. On failure *shm is NULL. */
TLG_API int tlg_shm_open(struct tlg_shm **shm, const char *name, unsigned flags, struct tlg_error *err);
/* The header, mapped: of its changing fields nothing but atomic loads makes sense. */
TLG_API const struct tlg_shm_header *tlg_shm_header(const struct tlg_shm *shm);

/* The oldest slot that was not read, in place; waits for one at most timeout_ms. TLG_EINTR: none came. TLG_OK with
 * *slot == NULL: the end. TLG_EPIPE: the writer died without an end. TLG_EFORMAT: what stands there makes no sense.
 * The slot is valid until tlg_shm_release, whose result tells whether it was all the while. */
TLG_API int tlg_shm_next(struct tlg_shm *shm, const struct tlg_shm_slot **slot, const tlg_cs16 **samples,
                         unsigned timeout_ms, struct tlg_error *err);
/* Done with it. 1: it stood still until now; 0: the writer has lapped this reader meanwhile, and what was read of the
 * slot is worth nothing. */
TLG_API int tlg_shm_release(struct tlg_shm *shm);
/* The same with a copy that is right: up to n samples, all of one run, of which the first has number *first. *got == 0
 * is the end, and *first then the end's number. */
TLG_API int tlg_shm_read(struct tlg_shm *shm, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first,
                         unsigned timeout_ms, struct tlg_error *err);

struct tlg_shm_counts {
  uint64_t slots, samples;           /* read */
  uint64_t lost_slots, lost_samples; /* to laps: those never seen, and those that changed while they were read */
  uint64_t laps;
};
TLG_API void tlg_shm_get_counts(const struct tlg_shm *shm, struct tlg_shm_counts *counts);
TLG_API void tlg_shm_close(struct tlg_shm *shm);

#ifdef __cplusplus
}
#endif
#endif
