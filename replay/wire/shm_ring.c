/* SPDX-License-Identifier: Apache-2.0 */
/* The shared-memory ring: its writer, and locks, futexes and names for both sides. */
#include "shm_ring.h"
#include "ring.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(offsetof(struct tlg_shm_header, state) == 128, "the layout is fixed");
_Static_assert(offsetof(struct tlg_shm_header, claimed) == 136, "the layout is fixed");
_Static_assert(offsetof(struct tlg_shm_header, taken) == 256, "the layout is fixed");
_Static_assert(sizeof(struct tlg_shm_slot) == 64, "the layout is fixed");

struct tlg_shm_writer {
  int fd;
  char path[256];
  struct tlg_shm_header *h;
  size_t bytes;
  uint32_t slots, slot_bytes; /* not to be believed in shared memory */
  int blocks;
  uint64_t claimed;
  int open; /* a slot is being filled */
};

int tlg_shm_path(char path[256], const char *name, struct tlg_error *err)
{
  const char *plain = name[0] == '/' ? name + 1 : name;

  if (!*plain || strlen(plain) > 200 || strchr(plain, '/') || strcmp(plain, ".") == 0 || strcmp(plain, "..") == 0) {
    return tlg_error_set(err, TLG_EINVAL, "shm: needs a plain name, without '/' and of at most 200 letters");
  }
  snprintf(path, 256, "/%s", plain);
  return TLG_OK;
}

static struct flock one_byte(short type, int which)
{
  struct flock lock;

  memset(&lock, 0, sizeof lock);
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = which;
  lock.l_len = 1;
  return lock;
}

int tlg_shm_is_locked(int fd, int which)
{
  struct flock lock = one_byte(F_WRLCK, which);

  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int tlg_shm_lock(int fd, int which)
{
  struct flock lock = one_byte(F_WRLCK, which);

  return fcntl(fd, F_OFD_SETLK, &lock);
}

void tlg_shm_wake(uint32_t *futex)
{
  __atomic_add_fetch(futex, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void tlg_shm_sleep(const uint32_t *futex, uint32_t value, unsigned timeout_ms)
{
  const struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

  syscall(SYS_futex, futex, FUTEX_WAIT, value, &t, NULL, 0);
}

/* 0, 0 is a rate that is not stated. */
static int rate_is_sound(uint64_t num, uint64_t den)
{
  struct tlg_rate rate;

  return (!num && !den) || (tlg_rate_make(&rate, num, den) == TLG_OK && tlg_wire_rate_is_possible(&rate));
}

int tlg_shm_counts_are_sound(const struct tlg_shm_header *h)
{
  const uint64_t claimed = __atomic_load_n(&h->claimed, __ATOMIC_ACQUIRE); /* first: both only grow */
  const uint64_t published = __atomic_load_n(&h->published, __ATOMIC_ACQUIRE);

  return claimed <= published || claimed - published == 1;
}

int tlg_shm_header_fits(const struct tlg_shm_header *h, uint64_t bytes)
{
  const uint32_t state = __atomic_load_n(&h->state, __ATOMIC_ACQUIRE);

  return (state == TLG_SHM_LIVE || state == TLG_SHM_ENDED) && h->blocks <= 1 &&
         rate_is_sound(h->rate_num, h->rate_den) && tlg_shm_counts_are_sound(h) && h->magic == TLG_SHM_MAGIC &&
         h->version == TLG_SHM_VERSION && h->header_bytes == TLG_SHM_HEADER_BYTES && h->slots &&
         (h->slots & (h->slots - 1)) == 0 && h->slot_bytes % 64 == 0 && h->slot_samples &&
         h->slot_samples <= 1u << 24 &&
         sizeof(struct tlg_shm_slot) + (uint64_t)h->slot_samples * sizeof(tlg_cs16) <= h->slot_bytes &&
         h->header_bytes + (uint64_t)h->slots * h->slot_bytes <= bytes;
}

/* Whether the memory of this name is a ring whose writer is dead. */
static int is_left_behind(const char *path)
{
  const int fd = shm_open(path, O_RDWR | O_CLOEXEC, 0);
  uint32_t magic = 0;
  int left = 0;

  if (fd >= 0) {
    left = pread(fd, &magic, sizeof magic, 0) == sizeof magic && magic == TLG_SHM_MAGIC &&
           !tlg_shm_is_locked(fd, TLG_SHM_LOCK_WRITER);
    close(fd);
  }
  return left;
}

int tlg_shm_writer_new(struct tlg_shm_writer **writer, const char *name, const struct tlg_shm_writer_cfg *cfg,
                       struct tlg_error *err)
{
  struct tlg_shm_writer *w;
  struct tlg_shm_header *h;
  char path[256];
  int status = tlg_shm_path(path, name, err), cause;

  *writer = NULL;
  if (status) {
    return status;
  }
  w = calloc(1, sizeof *w);
  if (!w) {
    return tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  memcpy(w->path, path, sizeof path);
  w->fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (w->fd < 0 && errno == EEXIST && is_left_behind(path)) {
    shm_unlink(path);
    w->fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  if (w->fd < 0) {
    status = errno == EEXIST ? tlg_error_set(err, TLG_EEXIST,
                                             "/dev/shm%s is already there, and somebody writes it or it is none of "
                                             "taplag's; take another name",
                                             path)
                             : tlg_error_set(err, TLG_ESYS, "cannot make /dev/shm%s: %s", path, strerror(errno));
    free(w);
    return status;
  }
  for (w->slots = 1; w->slots < cfg->slots; w->slots *= 2) {
  }
  w->slot_bytes =
      (uint32_t)((sizeof(struct tlg_shm_slot) + (size_t)cfg->slot_samples * sizeof(tlg_cs16) + 63) / 64 * 64);
  w->blocks = cfg->blocks;
  w->bytes = TLG_SHM_HEADER_BYTES + (size_t)w->slots * w->slot_bytes;
  cause = tlg_shm_lock(w->fd, TLG_SHM_LOCK_WRITER) != 0 ? errno : posix_fallocate(w->fd, 0, (off_t)w->bytes);
  h = cause ? MAP_FAILED : mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
  if (h == MAP_FAILED) {
    status = tlg_error_set(err, TLG_ESYS, "cannot take %zu bytes in /dev/shm%s: %s", w->bytes, path,
                           strerror(cause ? cause : errno));
    shm_unlink(path);
    close(w->fd);
    free(w);
    return status;
  }
  /* Every page now: what its first use costs (10 us were seen in a virtual machine) would make the first round slow. */
  tlg_touch(h, w->bytes);
  w->h = h;
  h->version = TLG_SHM_VERSION;
  h->header_bytes = TLG_SHM_HEADER_BYTES;
  h->slot_bytes = w->slot_bytes;
  h->slots = w->slots;
  h->slot_samples = cfg->slot_samples;
  h->stream = cfg->stream;
  h->blocks = cfg->blocks != 0;
  h->rate_num = cfg->rate.num;
  h->rate_den = cfg->rate.den;
  h->start_ns = cfg->start_ns;
  h->state = TLG_SHM_LIVE;
  __atomic_store_n(&h->magic, TLG_SHM_MAGIC, __ATOMIC_RELEASE); /* from here on it can be read */
  *writer = w;
  return TLG_OK;
}

int tlg_shm_writer_has_reader(struct tlg_shm_writer *w)
{
  if (!__atomic_load_n(&w->h->reader, __ATOMIC_ACQUIRE)) {
    return 0;
  }
  if (tlg_shm_is_locked(w->fd, TLG_SHM_LOCK_READER)) {
    return 1;
  }
  __atomic_store_n(&w->h->reader, 0, __ATOMIC_RELEASE); /* it died */
  return 0;
}

/* Slots that the reader is done with, as far as that can be true. */
static uint64_t taken(const struct tlg_shm_writer *w)
{
  const uint64_t t = __atomic_load_n(&w->h->taken, __ATOMIC_ACQUIRE);

  return t > w->claimed ? w->claimed : t;
}

struct tlg_shm_slot *tlg_shm_writer_slot(struct tlg_shm_writer *w, unsigned timeout_ms)
{
  if (!w->open) {
    if (w->blocks) {
      const uint32_t before = __atomic_load_n(&w->h->room, __ATOMIC_SEQ_CST);

      if (!__atomic_load_n(&w->h->reader, __ATOMIC_ACQUIRE) || w->claimed - taken(w) >= w->slots) {
        if (timeout_ms) {
          tlg_shm_sleep(&w->h->room, before, timeout_ms);
        }
        if (!tlg_shm_writer_has_reader(w) || w->claimed - taken(w) >= w->slots) {
          return NULL;
        }
      }
    }
    w->open = 1;
    __atomic_store_n(&w->h->claimed, ++w->claimed, __ATOMIC_RELAXED);
    __sync_synchronize(); /* whoever sees the slot change must see that it was claimed */
  }
  return (struct tlg_shm_slot *)(void *)((char *)w->h + TLG_SHM_HEADER_BYTES +
                                         (size_t)((w->claimed - 1) % w->slots) * w->slot_bytes);
}

void tlg_shm_writer_publish(struct tlg_shm_writer *w)
{
  w->open = 0;
  __atomic_store_n(&w->h->published, w->claimed, __ATOMIC_RELEASE);
  tlg_shm_wake(&w->h->wake);
}

void tlg_shm_writer_close(struct tlg_shm_writer *w, uint64_t end, uint64_t left_out)
{
  struct tlg_shm_slot *s;

  if (!w) {
    return;
  }
  /* The end's number stands in a last slot without samples, if there is room for it. */
  s = tlg_shm_writer_slot(w, 0);
  if (s) {
    memset(s, 0, sizeof *s);
    s->first = end;
    s->left_out = left_out;
    s->frequency_hz = NAN;
    tlg_shm_writer_publish(w);
  }
  __atomic_store_n(&w->h->state, TLG_SHM_ENDED, __ATOMIC_RELEASE);
  tlg_shm_wake(&w->h->wake);
  shm_unlink(w->path);
  munmap(w->h, w->bytes);
  close(w->fd);
  free(w);
}
