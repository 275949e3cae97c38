/* SPDX-License-Identifier: Apache-2.0 */
/* The reading side of the shared-memory ring (tlg_shm.h). */
#include "shm_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct tlg_shm {
  int fd;
  struct tlg_shm_header *h;
  size_t bytes;
  uint32_t slots, slot_bytes, slot_samples; /* as they were when it was opened and checked */
  int waited_for;
  uint64_t at;            /* the slot that comes next */
  uint64_t end, left_out; /* behind the last sample read, and what the writer had left out up to there */
  int begun;
  struct tlg_shm_counts counts;
  struct tlg_shm_slot copy; /* of the slot being read by tlg_shm_read ... */
  tlg_cs16 *samples;        /* ... and its samples, which have been proved whole */
  size_t done;
  int have;
};

static uint64_t load64(const uint64_t *p)
{
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Use every page of the slots once, as the writer does, for the first round to be as fast as those that follow. Not
 * where the file has holes, which reading would fill, and no more of a large ring than takes a moment. */
static void touch_slots(const struct tlg_shm *m, const struct stat *st)
{
  enum { MOST = 64 << 20 };
  const uint64_t all = TLG_SHM_HEADER_BYTES + (uint64_t)m->slots * m->slot_bytes;
  const volatile unsigned char *p = (const volatile unsigned char *)m->h;
  uint64_t i;

  for (i = 0; (uint64_t)st->st_blocks * 512 >= (uint64_t)st->st_size && i < all && i < MOST; i += 4096) {
    (void)p[i];
  }
}

/* Take the place of the reader that is waited for. Where the one before died, what it had not read is still there. */
static int be_waited_for(struct tlg_shm *m, struct tlg_error *err)
{
  uint64_t taken, claimed;

  if (tlg_shm_lock(m->fd, TLG_SHM_LOCK_READER) != 0) {
    return errno == EAGAIN || errno == EACCES
               ? tlg_error_set(err, TLG_EEXIST, "another reader is already waited for")
               : tlg_error_set(err, TLG_ESYS, "cannot lock the shared memory: %s", strerror(errno));
  }
  taken = load64(&m->h->taken);
  claimed = load64(&m->h->claimed);
  m->at = taken <= claimed && claimed - taken <= m->slots ? taken : load64(&m->h->published);
  __atomic_store_n(&m->h->taken, m->at, __ATOMIC_RELEASE);
  __atomic_store_n(&m->h->reader, 1, __ATOMIC_SEQ_CST);
  tlg_shm_wake(&m->h->room);
  m->waited_for = 1;
  return TLG_OK;
}

int tlg_shm_open(struct tlg_shm **shm, const char *name, unsigned flags, struct tlg_error *err)
{
  const int writes = (flags & TLG_SHM_WAIT_FOR_ME) != 0;
  struct tlg_shm *m;
  struct stat st;
  char path[256];
  int status;

  if (!shm || !name) {
    return tlg_error_set(err, TLG_EINVAL, "no name");
  }
  *shm = NULL;
  status = tlg_shm_path(path, name, err);
  if (status) {
    return status;
  }
  m = calloc(1, sizeof *m);
  if (!m) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  m->fd = shm_open(path, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC, 0);
  if (m->fd < 0 || fstat(m->fd, &st) != 0) {
    status = tlg_error_set(err, TLG_ESYS, "cannot open /dev/shm%s: %s", path, strerror(errno));
    goto fail;
  }
  if (st.st_size < TLG_SHM_HEADER_BYTES) {
    status = tlg_error_set(err, TLG_EFORMAT, "/dev/shm%s is no ring of taplag's, or not ready yet", path);
    goto fail;
  }
  m->bytes = (size_t)st.st_size;
  m->h = mmap(NULL, m->bytes, PROT_READ | (writes ? PROT_WRITE : 0), MAP_SHARED, m->fd, 0);
  if (m->h == MAP_FAILED) {
    m->h = NULL;
    status = tlg_error_set(err, TLG_ESYS, "cannot map /dev/shm%s: %s", path, strerror(errno));
    goto fail;
  }
  if (__atomic_load_n(&m->h->magic, __ATOMIC_ACQUIRE) != TLG_SHM_MAGIC || !tlg_shm_header_fits(m->h, m->bytes)) {
    status = tlg_error_set(
        err, TLG_EFORMAT,
        "/dev/shm%s is no ring of this version of taplag's, states what cannot be, or is not ready yet", path);
    goto fail;
  }
  m->slots = m->h->slots;
  m->slot_bytes = m->h->slot_bytes;
  m->slot_samples = m->h->slot_samples;
  if (m->h->state != TLG_SHM_ENDED && !tlg_shm_is_locked(m->fd, TLG_SHM_LOCK_WRITER)) {
    status = tlg_error_set(err, TLG_ESYS, "the writer of /dev/shm%s is dead", path);
    goto fail;
  }
  m->samples = malloc((size_t)m->slot_samples * sizeof *m->samples);
  if (!m->samples || (uint64_t)m->slots * m->slot_bytes + TLG_SHM_HEADER_BYTES > m->bytes) {
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
    goto fail;
  }
  touch_slots(m, &st);
  if (writes) {
    status = be_waited_for(m, err);
    if (status) {
      goto fail;
    }
  } else {
    const uint64_t published = load64(&m->h->published);

    /* The oldest, but not what is overwritten next. */
    m->at = flags & TLG_SHM_NEWEST ? published : published > m->slots * 3ull / 4 ? published - m->slots * 3ull / 4 : 0;
  }
  *shm = m;
  return TLG_OK;
fail:
  tlg_shm_close(m);
  return status;
}

const struct tlg_shm_header *tlg_shm_header(const struct tlg_shm *m)
{
  return m->h;
}

/* Overtaken: on with what is furthest from being overwritten and yet half a ring old. */
static void lap(struct tlg_shm *m)
{
  const uint64_t published = load64(&m->h->published);
  const uint64_t to = published > m->slots / 2 ? published - m->slots / 2 : 0;

  m->counts.laps++;
  m->counts.lost_slots += to > m->at ? to - m->at : 1;
  m->at = to > m->at ? to : m->at + 1;
}

static int is_overwritten(const struct tlg_shm *m)
{
  return load64(&m->h->claimed) > m->at + m->slots;
}

static const struct tlg_shm_slot *slot_at(const struct tlg_shm *m)
{
  return (const struct tlg_shm_slot *)(const void *)((const char *)m->h + TLG_SHM_HEADER_BYTES +
                                                     (size_t)(m->at % m->slots) * m->slot_bytes);
}

int tlg_shm_next(struct tlg_shm *m, const struct tlg_shm_slot **slot, const tlg_cs16 **samples, unsigned timeout_ms,
                 struct tlg_error *err)
{
  enum { LOOK_MS = 50 };
  unsigned waited = 0;

  *slot = NULL;
  *samples = NULL;
  for (;;) {
    const uint32_t before = __atomic_load_n(&m->h->wake, __ATOMIC_ACQUIRE);
    const int ended = __atomic_load_n(&m->h->state, __ATOMIC_ACQUIRE) == TLG_SHM_ENDED;
    unsigned wait;

    if (is_overwritten(m)) {
      if (!tlg_shm_counts_are_sound(m->h)) { /* else no lap would ever be the last */
        return tlg_error_set(err, TLG_EFORMAT, "the counts of the shared memory make no sense");
      }
      lap(m);
      continue;
    }
    if (load64(&m->h->published) > m->at) {
      *slot = slot_at(m);
      *samples = (const tlg_cs16 *)(const void *)(*slot + 1);
      if ((*slot)->n > m->slot_samples && !is_overwritten(m)) {
        return tlg_error_set(err, TLG_EFORMAT, "a slot of the shared memory claims more samples than it can hold");
      }
      return TLG_OK;
    }
    if (ended) {
      return TLG_OK;
    }
    if (waited >= timeout_ms) {
      if (!tlg_shm_is_locked(m->fd, TLG_SHM_LOCK_WRITER) && load64(&m->h->published) <= m->at &&
          __atomic_load_n(&m->h->state, __ATOMIC_ACQUIRE) != TLG_SHM_ENDED) {
        return tlg_error_set(err, TLG_EPIPE, "the writer died without an end");
      }
      return TLG_EINTR;
    }
    wait = timeout_ms - waited < LOOK_MS ? timeout_ms - waited : LOOK_MS;
    tlg_shm_sleep(&m->h->wake, before, wait);
    /* Woken or not: whether something came is seen above, and a wake without anything counts as the whole wait. */
    if (__atomic_load_n(&m->h->wake, __ATOMIC_ACQUIRE) == before) {
      waited += wait;
    }
  }
}

int tlg_shm_release(struct tlg_shm *m)
{
  const struct tlg_shm_slot *slot = slot_at(m);
  const int has_samples = slot->n > 0; /* the end's slot is no packet */
  int whole;

  __sync_synchronize(); /* what was read of the slot was read before this */
  whole = !is_overwritten(m);
  if (whole) {
    m->at++;
    m->counts.slots += has_samples;
  } else {
    lap(m);
  }
  if (m->waited_for) {
    __atomic_store_n(&m->h->taken, m->at, __ATOMIC_RELEASE);
    tlg_shm_wake(&m->h->room);
  }
  return whole;
}

int tlg_shm_read(struct tlg_shm *m, tlg_cs16 *buf, size_t n, size_t *got, uint64_t *first, unsigned timeout_ms,
                 struct tlg_error *err)
{
  *got = 0;
  while (!m->have) {
    const struct tlg_shm_slot *slot;
    const tlg_cs16 *samples;
    const int status = tlg_shm_next(m, &slot, &samples, timeout_ms, err);
    uint64_t gap, stated;

    if (status) {
      return status;
    }
    if (!slot) {
      *first = m->end;
      return TLG_OK;
    }
    m->copy = *slot;
    if (m->copy.n <= m->slot_samples) {
      memcpy(m->samples, samples, m->copy.n * sizeof *samples);
    }
    if (!tlg_shm_release(m)) {
      continue;
    }
    if (m->copy.n > m->slot_samples || m->copy.first >> 62 || (m->begun && m->copy.first < m->end)) {
      return tlg_error_set(err, TLG_EFORMAT, "a slot of the shared memory makes no sense");
    }
    if (!m->begun) {
      m->begun = 1;
      /* From the writer's first sample, if this is the ring's first slot and something was left out before it. */
      m->end = m->copy.first;
      m->left_out = m->copy.left_out;
      if (m->at == 1 + m->counts.lost_slots) {
        m->end = m->left_out = 0;
      }
    }
    gap = m->copy.first - m->end;
    stated = m->copy.left_out > m->left_out ? m->copy.left_out - m->left_out : 0;
    m->counts.lost_samples += gap - (stated < gap ? stated : gap);
    m->left_out = m->copy.left_out;
    m->end = m->copy.first;
    m->done = 0;
    m->have = m->copy.n > 0;
  }
  *first = m->copy.first + m->done;
  *got = m->copy.n - m->done < n ? m->copy.n - m->done : n;
  memcpy(buf, m->samples + m->done, *got * sizeof *buf);
  m->done += *got;
  m->end += *got;
  m->counts.samples += *got;
  m->have = m->done < m->copy.n;
  return TLG_OK;
}

void tlg_shm_get_counts(const struct tlg_shm *m, struct tlg_shm_counts *counts)
{
  *counts = m->counts;
}

void tlg_shm_close(struct tlg_shm *m)
{
  if (!m) {
    return;
  }
  if (m->waited_for) {
    __atomic_store_n(&m->h->reader, 0, __ATOMIC_RELEASE);
    tlg_shm_wake(&m->h->room);
  }
  if (m->h) {
    munmap(m->h, m->bytes);
  }
  if (m->fd >= 0) {
    close(m->fd);
  }
  free(m->samples);
  free(m);
}
