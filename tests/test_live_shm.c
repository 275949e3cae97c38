/* SPDX-License-Identifier: Apache-2.0 */
/* shm: the ring from sink to source and to the C reader, laps, a reader that is waited for, processes that die. */
#include "live_help.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shm_ring.h"

static char name[64], text[200];

static const char *named(const char *keys)
{
  snprintf(text, sizeof text, "shm:%s%s", name, keys);
  return text;
}

static int name_make(void **state)
{
  (void)state;
  snprintf(name, sizeof name, "taplag-test-%d", (int)getpid());
  return 0;
}

static int name_remove(void **state)
{
  char path[80];

  (void)state;
  snprintf(path, sizeof path, "/%s", name);
  shm_unlink(path);
  return 0;
}

static struct listener *listener(void)
{
  struct listener *l = calloc(1, sizeof *l);

  assert_non_null(l);
  return l;
}

static int exists(void)
{
  char path[120];
  struct stat st;

  snprintf(path, sizeof path, "/dev/shm/%s", name);
  return stat(path, &st) == 0;
}

/* The writer waits: nothing is lost, whatever the ring's size. */
static void blocking(void **unused)
{
  static const char *const keys[] = {"?block=1", "?block=1&slots=4&slot=100", "?block=1&slots=5&slot=1024"};
  size_t i;

  (void)unused;
  for (i = 0; i < 3; i++) {
    struct listener *l = listener();
    struct tlg_sink *sink = open_sink(named(keys[i]));
    uint64_t first = 0, messages;

    listen_to(l, named(""), 0);
    write_samples(sink, &first, 200000, 448, 0);
    write_samples(sink, &first, 20001, 8192, 5000);
    tlg_sink_end(sink);
    while (!tlg_sink_ended(sink)) {
      nap_us(500);
    }
    messages = tlg_sink_counter(sink, TLG_SINK_MESSAGES);
    close_sink(sink);
    hang_up(l);
    assert_int_equal(l->status, TLG_OK);
    assert_int_equal(l->counts[TLG_LIVE_PACKETS], messages); /* the end's slot is none */
    assert_int_equal(l->heard.samples, 220001);
    assert_int_equal(l->heard.missing, 5000);
    assert_int_equal(l->counts[TLG_LIVE_LOST_SAMPLES] + l->counts[TLG_LIVE_LOST_PACKETS], 0);
    assert_int_equal(l->info.rate.num, 25000000);
    assert_string_equal(l->info.datetime, "2024-01-01T00:00:00.000000000000Z");
    assert_false(exists());
    free(l);
  }
}

/* The layout, as a program that does not link the library sees it. */
static void layout(void **unused)
{
  struct tlg_sink *sink = open_sink(named("?slots=16&slot=50"));
  uint64_t first = 0;
  char path[120];
  const uint8_t *m;
  uint64_t word;
  uint32_t half;
  int fd, i;

  (void)unused;
  write_samples(sink, &first, 120, 120, 30);
  while (tlg_sink_counter(sink, TLG_SINK_SENT) < 120) {
    nap_us(500);
  }
  snprintf(path, sizeof path, "/dev/shm/%s", name);
  fd = open(path, O_RDONLY);
  m = mmap(NULL, 4096 + 16 * 320, PROT_READ, MAP_SHARED, fd, 0);
  assert_true(m != MAP_FAILED);
  {
    static const uint32_t wanted[] = {0x474c5453, 1, 4096, 320, 16, 50}; /* 64 + 50 * 4 = 264 -> 320 */

    assert_memory_equal(m, wanted, sizeof wanted);
  }
  memcpy(&word, m + 32, 8);
  assert_int_equal(word, 25000000);
  memcpy(&word, m + 48, 8);
  assert_int_equal(word, 1704067200000000000);
  memcpy(&half, m + 128, 4);
  assert_int_equal(half, 1); /* live */
  memcpy(&word, m + 136, 8);
  assert_int_equal(word, 3);
  memcpy(&word, m + 144, 8);
  assert_int_equal(word, 3);
  for (i = 0; i < 3; i++) { /* 50 + 50 + 20 samples from number 30 on */
    const uint8_t *slot = m + 4096 + i * 320;
    const tlg_cs16 wanted = sample_of(30 + 50 * (uint64_t)i + 7);

    memcpy(&word, slot, 8);
    assert_int_equal(word, 30 + 50 * i);
    memcpy(&word, slot + 8, 8);
    assert_int_equal(word, 30);
    memcpy(&half, slot + 32, 4);
    assert_int_equal(half, i == 2 ? 20 : 50);
    assert_memory_equal(slot + 64 + 7 * 4, &wanted, 4);
  }
  close_sink(sink);
  memcpy(&half, m + 128, 4);
  assert_int_equal(half, 2); /* ended, and what is mapped stays */
  assert_false(exists());
  munmap((void *)(uintptr_t)m, 4096 + 16 * 320);
  close(fd);
}

/* Readers that only look on: overtaken, they know by how much; what they got is right. */
static void laps(void **unused)
{
  struct listener *l = listener();
  struct tlg_sink *sink = open_sink(named("?slots=16&slot=448"));
  uint64_t first = 0;
  int i;

  (void)unused;
  l->slow_us = 3000;
  l->chunk = 448;
  write_samples(sink, &first, 448, 448, 0);
  listen_to(l, named(""), 0);
  while (!atomic_load(&l->so_far)) {
    nap_us(500);
  }
  for (i = 0; i < 500; i++) {
    write_samples(sink, &first, 448, 448, i == 250 ? 1000 : 0);
    nap_us(300);
  }
  close_sink(sink);
  hang_up(l);
  assert_int_equal(l->status, TLG_OK);
  assert_true(l->counts[TLG_LIVE_LOSSES] > 0);
  assert_int_equal(l->counts[TLG_LIVE_SAMPLES], l->heard.samples);
  assert_int_equal(l->heard.end, first);
  assert_int_equal(l->heard.samples + l->counts[TLG_LIVE_LOST_SAMPLES] + 1000, first);
  /* 501 slots; the end's, without samples, is none. */
  assert_int_equal(l->counts[TLG_LIVE_PACKETS] + l->counts[TLG_LIVE_LOST_PACKETS], 501);
  free(l);
}

/* In place: what was read of a slot counts only if it stood still. */
static void in_place(void **unused)
{
  const struct tlg_shm_writer_cfg cfg = {
      .slots = 4, .slot_samples = 8, .rate = stream_rate, .start_ns = TLG_SHM_NO_TIME};
  struct tlg_shm_counts counts;
  const struct tlg_shm_slot *slot;
  const tlg_cs16 *samples;
  struct tlg_shm_writer *w;
  struct tlg_error err;
  struct tlg_shm *m, *late;
  uint64_t k, first;
  tlg_cs16 x[8];
  size_t got;

  (void)unused;
  assert_int_equal(tlg_shm_writer_new(&w, name, &cfg, &err), TLG_OK);
  assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_OK);
  assert_int_equal(tlg_shm_next(m, &slot, &samples, 0, &err), TLG_EINTR);
  for (k = 0; k < 12; k++) {
    struct tlg_shm_slot *s = tlg_shm_writer_slot(w, 0);

    s->first = 8 * k;
    s->left_out = 0;
    s->n = 8;
    fill_samples(tlg_shm_samples(s), 8 * k, 8);
    tlg_shm_writer_publish(w);
    if (k == 0) {
      assert_int_equal(tlg_shm_next(m, &slot, &samples, 0, &err), TLG_OK);
      assert_int_equal(slot->first, 0);
    } else if (k == 3) { /* slot 0 is still there */
      assert_int_equal(slot->first, 0);
    }
  }
  assert_int_equal(tlg_shm_release(m), 0); /* no more */
  tlg_shm_get_counts(m, &counts);
  assert_int_equal(counts.laps, 1);
  assert_int_equal(counts.lost_slots, 10); /* half a ring is left */
  assert_int_equal(tlg_shm_next(m, &slot, &samples, 0, &err), TLG_OK);
  assert_int_equal(slot->first, 80);
  assert_int_equal(tlg_shm_release(m), 1);
  assert_int_equal(tlg_shm_read(m, x, 5, &got, &first, 0, &err), TLG_OK);
  assert_true(got == 5 && first == 88);
  assert_int_equal(tlg_shm_read(m, x, 5, &got, &first, 0, &err), TLG_OK);
  assert_true(got == 3 && first == 93 && x[2].i == sample_of(95).i);
  assert_int_equal(tlg_shm_read(m, x, 5, &got, &first, 0, &err), TLG_EINTR);
  assert_int_equal(tlg_shm_open(&late, name, TLG_SHM_NEWEST, &err), TLG_OK);
  assert_int_equal(tlg_shm_next(late, &slot, &samples, 10, &err), TLG_EINTR);
  tlg_shm_writer_close(w, 100, 0);
  assert_int_equal(tlg_shm_read(m, x, 5, &got, &first, 0, &err), TLG_OK);
  assert_true(got == 0 && first == 100);
  tlg_shm_get_counts(m, &counts);
  assert_int_equal(counts.lost_samples,
                   4); /* 96 to 99 were said to be, and never came; before 88 nothing had been read */
  assert_int_equal(tlg_shm_next(late, &slot, &samples, 10, &err), TLG_OK);
  tlg_shm_release(late);
  assert_int_equal(tlg_shm_next(late, &slot, &samples, 10, &err), TLG_OK);
  assert_null(slot);
  tlg_shm_close(m);
  tlg_shm_close(late);
}

/* A writer that is killed: readers end, and the next writer takes the name over. One that lives keeps it. */
static void writer_dies(void **unused)
{
  struct listener *l = listener();
  const struct tlg_sink_cfg cfg = {.rate = stream_rate};
  struct tlg_sink *sink;
  struct tlg_error err;
  uint64_t first = 0;
  pid_t child;
  int status;

  (void)unused;
  child = fork();
  if (child == 0) {
    sink = open_sink(named(""));
    write_samples(sink, &first, 4480, 448, 0);
    for (;;) {
      pause();
    }
  }
  listen_to(l, named(""), 0);
  while (atomic_load(&l->so_far) < 4480) {
    nap_us(500);
  }
  assert_int_equal(tlg_sink_open(&sink, named(""), &cfg, &err), TLG_EEXIST);
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, &status, 0), child);
  hang_up(l);
  assert_int_equal(l->status, TLG_OK);
  assert_int_equal(l->heard.samples, 4480);
  assert_non_null(strstr(l->hints, "died"));
  assert_true(exists());
  {
    struct tlg_shm *m;

    assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_ESYS);
  }
  sink = open_sink(named(""));
  close_sink(sink);
  assert_false(exists());
  free(l);
}

/* The reader that is waited for is killed: the writer waits for the next one, which goes on where that one was. */
static void reader_dies(void **unused)
{
  struct listener *l = listener();
  struct tlg_sink *sink = open_sink(named("?block=1&slots=8&slot=448"));
  uint64_t first = 0, taken = 0;
  struct tlg_error err;
  struct tlg_shm *m;
  pid_t child;
  int status, ready[2];

  (void)unused;
  assert_int_equal(pipe(ready), 0);
  child = fork();
  if (child == 0) {
    tlg_cs16 x[448];
    uint64_t at;
    size_t got, i;

    if (tlg_shm_open(&m, name, TLG_SHM_WAIT_FOR_ME, &err)) {
      _exit(1);
    }
    for (i = 0; i < 3; i++) {
      while (tlg_shm_read(m, x, 448, &got, &at, 50, &err)) {
      }
      taken += got;
    }
    _exit(write(ready[1], &taken, sizeof taken) == sizeof taken ? 0 : 1); /* without closing */
  }
  write_samples(sink, &first, 100 * 448, 448, 0); /* into the lane's queue */
  assert_int_equal(read(ready[0], &taken, sizeof taken), sizeof taken);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(taken, 3 * 448);
  l->heard.offset = taken;
  listen_to(l, named(""), 0);
  close_sink(sink);
  hang_up(l);
  assert_int_equal(l->heard.samples, first - taken);
  close(ready[0]);
  close(ready[1]);
  free(l);
}

/* Only one can be waited for; others look on. */
static void second_reader(void **unused)
{
  struct tlg_sink *sink = open_sink(named("?block=1"));
  struct listener *a = listener(), *b = listener();
  uint64_t first = 0;
  struct tlg_shm *m;
  struct tlg_error err;

  (void)unused;
  listen_to(a, named(""), 0);
  while (!atomic_load(&a->opened)) {
    nap_us(500);
  }
  assert_int_equal(tlg_shm_open(&m, name, TLG_SHM_WAIT_FOR_ME, &err), TLG_EEXIST);
  listen_to(b, named(""), 0);
  while (!atomic_load(&b->opened)) {
    nap_us(500);
  }
  write_samples(sink, &first, 448000, 448, 0);
  close_sink(sink);
  hang_up(a);
  hang_up(b);
  assert_int_equal(a->heard.samples, 448000);
  assert_int_equal(b->heard.samples + b->counts[TLG_LIVE_LOST_SAMPLES], 448000);
  free(a);
  free(b);
}

/* Bytes of the memory that are mapped into this process, by every mapping of it; *mappings = how many these are. */
static uint64_t mapped_bytes(unsigned *mappings)
{
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[512];
  uint64_t kb = 0, n;
  int here = 0;

  *mappings = 0;
  while (f && fgets(line, sizeof line, f)) {
    if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' ')) {
      here = strstr(line, name) != NULL;
      *mappings += here;
    } else if (here && sscanf(line, "Rss: %" SCNu64, &n) == 1) {
      kb += n;
    }
  }
  if (f) {
    fclose(f);
  }
  return kb * 1024;
}

/* The first round through the ring costs no page fault, at either end. */
static void touched(void **unused)
{
  const struct tlg_shm_writer_cfg cfg = {.slots = 256, .slot_samples = 1008, .rate = {25000000, 1}};
  const uint64_t bytes = 4096 + 256 * 4096;
  struct tlg_shm_writer *w;
  struct tlg_error err;
  struct tlg_shm *m;
  unsigned mappings;
  uint64_t first;

  (void)unused;
  assert_int_equal(tlg_shm_writer_new(&w, name, &cfg, &err), TLG_OK);
  first = mapped_bytes(&mappings);
  if (!mappings) {
    tlg_shm_writer_close(w, 0, 0);
    skip(); /* this system does not tell */
  }
  assert_int_equal(mappings, 1);
  assert_true(first >= bytes);
  assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_OK);
  first = mapped_bytes(&mappings);
  assert_int_equal(mappings, 2);
  assert_true(first >= 2 * bytes);
  tlg_shm_close(m);
  tlg_shm_writer_close(w, 0, 0);
}

/* What others have put there is left alone, and never believed. */
static void foreign(void **unused)
{
  const struct tlg_sink_cfg cfg = {.rate = stream_rate};
  struct tlg_shm_header h = {.magic = TLG_SHM_MAGIC,
                             .version = 1,
                             .header_bytes = 4096,
                             .slot_bytes = 64 + 64,
                             .slots = 4,
                             .slot_samples = 16,
                             .state = TLG_SHM_LIVE};
  struct tlg_shm_header bad;
  struct tlg_sink *sink;
  struct tlg_error err;
  struct tlg_shm *m;
  uint64_t first;
  tlg_cs16 x[16];
  char path[80];
  size_t got;
  int fd, i;

  (void)unused;
  snprintf(path, sizeof path, "/%s", name);
  assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_ESYS);
  assert_int_equal(tlg_shm_open(&m, "a/b", 0, &err), TLG_EINVAL);
  assert_int_equal(tlg_sink_open(&sink, "shm:", &cfg, &err), TLG_EINVAL);
  fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  assert_true(fd >= 0);
  assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_EFORMAT); /* empty */
  assert_int_equal(tlg_sink_open(&sink, named(""), &cfg, &err), TLG_EEXIST);
  assert_int_equal(ftruncate(fd, 4096 + 4 * 128), 0);
  assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_EFORMAT); /* zeros */
  assert_int_equal(tlg_sink_open(&sink, named(""), &cfg, &err), TLG_EEXIST);
  for (i = 0; i < 9; i++) {
    bad = h;
    *(i == 0   ? &bad.version
      : i == 1 ? &bad.header_bytes
      : i == 2 ? &bad.slot_bytes
      : i == 3 ? &bad.slots
      : i == 4 ? &bad.slot_samples
      : i == 5 ? &bad.slots
      : i == 6 ? &bad.slot_bytes
      : i == 7 ? &bad.slot_samples
               : &bad.magic) = i == 5             ? 3
                               : i == 6           ? 100
                               : i == 7           ? 17
                               : i >= 3 && i <= 4 ? 0
                                                  : 0xfffffff0u;
    assert_int_equal(pwrite(fd, &bad, sizeof bad, 0), sizeof bad);
    assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_EFORMAT);
  }
  /* Rates, states and counts that no writer has. */
  for (i = 0; i < 9; i++) {
    bad = h;
    bad.rate_num = 25000000;
    bad.rate_den = 1;
    switch (i) {
    case 0:
      bad.rate_num = UINT64_C(1) << 63;
      break;
    case 1:
      bad.rate_den = 1000000007;
      break;
    case 2:
      bad.rate_num = 0;
      break;
    case 3:
      bad.rate_den = 0;
      break;
    case 4:
      bad.rate_num = UINT64_C(20000000000);
      break;
    case 5:
      bad.state = 0;
      break;
    case 6:
      bad.state = 3;
      break;
    case 7:
      bad.blocks = 2;
      break;
    default:
      bad.claimed = UINT64_C(1) << 63;
    }
    assert_int_equal(pwrite(fd, &bad, sizeof bad, 0), sizeof bad);
    assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_EFORMAT);
  }
  /* A ring whose slots lie: numbers that go back, more samples than there is room for. */
  assert_int_equal(tlg_shm_lock(fd, TLG_SHM_LOCK_WRITER), 0);
  h.published = h.claimed = 2;
  assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
  {
    const struct tlg_shm_slot lie = {.n = 17}, fine = {.first = 100, .n = 16}, back = {.first = 50, .n = 16};

    assert_int_equal(pwrite(fd, &lie, sizeof lie, 4096), sizeof lie);
    assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_OK);
    assert_int_equal(tlg_shm_read(m, x, 16, &got, &first, 0, &err), TLG_EFORMAT);
    tlg_shm_close(m);
    assert_int_equal(pwrite(fd, &fine, sizeof fine, 4096), sizeof fine);
    assert_int_equal(pwrite(fd, &back, sizeof back, 4096 + 128), sizeof back);
    assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_OK);
    assert_int_equal(tlg_shm_read(m, x, 16, &got, &first, 0, &err), TLG_OK);
    assert_int_equal(tlg_shm_read(m, x, 16, &got, &first, 0, &err), TLG_EFORMAT);
    tlg_shm_close(m);
  }
  { /* Counts that run away under a reader: an error, and no endless chase. */
    const uint64_t away = UINT64_C(1) << 63;

    assert_int_equal(tlg_shm_open(&m, name, 0, &err), TLG_OK);
    assert_int_equal(pwrite(fd, &away, sizeof away, offsetof(struct tlg_shm_header, claimed)), sizeof away);
    assert_int_equal(tlg_shm_read(m, x, 16, &got, &first, 0, &err), TLG_EFORMAT);
    tlg_shm_close(m);
  }
  close(fd);
  shm_unlink(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocking),      cmocka_unit_test(layout),      cmocka_unit_test(laps),
      cmocka_unit_test(in_place),      cmocka_unit_test(writer_dies), cmocka_unit_test(reader_dies),
      cmocka_unit_test(second_reader), cmocka_unit_test(touched),     cmocka_unit_test(foreign),
  };

  return cmocka_run_group_tests_name("live_shm", tests, name_make, name_remove);
}
