/* SPDX-License-Identifier: Apache-2.0 */
/* Counts allocations of the library and the test between two calls. The program must be linked with
 * COUNTING_MALLOC (tests/pipeline.mk). */
#ifndef COUNTING_MALLOC_H
#define COUNTING_MALLOC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic int counting_malloc_on;
static _Atomic unsigned counting_malloc_seen;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static void counting_malloc_note(void)
{
  if (atomic_load(&counting_malloc_on)) {
    atomic_fetch_add(&counting_malloc_seen, 1);
  }
}

void *__wrap_malloc(size_t size)
{
  counting_malloc_note();
  return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
  counting_malloc_note();
  return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
  counting_malloc_note();
  return __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
  counting_malloc_note();
  return __real_aligned_alloc(alignment, size);
}

static void counting_malloc_start(void)
{
  atomic_store(&counting_malloc_seen, 0);
  atomic_store(&counting_malloc_on, 1);
}

static void counting_malloc_stop(void)
{
  atomic_store(&counting_malloc_on, 0);
}

static unsigned counting_malloc_count(void)
{
  return atomic_load(&counting_malloc_seen);
}

/* An allocation that the compiler cannot leave out. */
static int counting_malloc_works(void)
{
  void *volatile p;

  counting_malloc_start();
  p = malloc(16);
  free(p);
  counting_malloc_stop();
  return counting_malloc_count() == 1;
}

#endif
