/* SPDX-License-Identifier: Apache-2.0 */
/* State of the host from folders that stand for the root of /proc and /sys, whole, missing and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tlg_replay.h"

static char root[] = "/tmp/tlg-host-XXXXXX";

static void put(const char *path, const char *text)
{
  char command[400], name[300];
  FILE *f;

  snprintf(name, sizeof name, "%s%s", root, path);
  snprintf(command, sizeof command, "mkdir -p \"$(dirname %s)\"", name);
  assert_int_equal(system(command), 0);
  f = fopen(name, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void clear(void)
{
  char command[100];

  snprintf(command, sizeof command, "rm -rf %s/*", root);
  assert_int_equal(system(command), 0);
}

static void what_is_there_is_read(void **state)
{
  struct tlg_host h;

  (void)state;
  clear();
  put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: A Fine CPU @ 3.70GHz\nflags\t\t: fpu vme hypervisor avx\n");
  put("/proc/loadavg", "0.10 1.25 11.50 2/345 6789\n");
  put("/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
  put("/sys/devices/system/cpu/isolated", "2-3\n");
  put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  tlg_host_read(&h, root);
  assert_string_equal(h.cpu_model, "A Fine CPU @ 3.70GHz");
  assert_string_equal(h.hypervisor, "yes");
  assert_string_equal(h.load, "0.10 1.25 11.50");
  assert_string_equal(h.isolated, "2-3");
  assert_string_equal(h.governor, "performance");
  assert_string_equal(h.clocksource, "tsc");
  assert_string_equal(h.nohz_full, "");
  assert_true(h.rt_runtime_us == 950000 && h.cpus_online >= 1 && h.cpus_allowed >= 1 && h.kernel[0]);
  put("/proc/sys/kernel/sched_rt_runtime_us", "-1\n");
  put("/proc/cpuinfo", "flags\t\t: fpu nohypervisor hypervisorx\n");
  tlg_host_read(&h, root);
  assert_true(h.rt_runtime_us == -1);
  assert_string_equal(h.hypervisor, "");
}

static void what_is_missing_or_damaged_stays_empty(void **state)
{
  char big[9000];
  struct tlg_host h;

  (void)state;
  clear();
  tlg_host_read(&h, root);
  assert_true(!h.cpu_model[0] && !h.governor[0] && !h.load[0] && h.rt_runtime_us == INT64_MIN);
  memset(big, 'x', sizeof big - 1);
  big[sizeof big - 1] = '\0';
  put("/proc/cpuinfo", big);
  put("/proc/loadavg", big);
  put("/proc/sys/kernel/sched_rt_runtime_us", "many\n");
  put("/sys/devices/system/cpu/isolated", big);
  put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "");
  tlg_host_read(&h, root);
  assert_true(strlen(h.isolated) < sizeof h.isolated && strlen(h.load) < sizeof h.load);
  assert_true(!h.governor[0] && h.rt_runtime_us == INT64_MIN);
  tlg_host_read(&h, NULL); /* this host */
  assert_true(h.kernel[0]);
}

static void steal_is_the_eighth_number(void **state)
{
  const long tick = sysconf(_SC_CLK_TCK);

  (void)state;
  clear();
  assert_true(tlg_host_steal_us(root) == INT64_MIN);
  put("/proc/stat", "cpu  1 2 3 4 5 6 7 1234 9 10\ncpu0 0 0 0 0 0 0 0 99 0 0\n");
  assert_true(tlg_host_steal_us(root) == 1234 * 1000000 / tick);
  put("/proc/stat", "cpu  1 2 3 4 5 6 7\n"); /* old kernels have no eighth */
  assert_true(tlg_host_steal_us(root) == INT64_MIN);
  put("/proc/stat", "cpux 1 2 3 4 5 6 7 8\n");
  assert_true(tlg_host_steal_us(root) == INT64_MIN);
  put("/proc/stat", "");
  assert_true(tlg_host_steal_us(root) == INT64_MIN);
}

static void the_control_accounts_for_its_time(void **state)
{
  struct tlg_spin_control c;
  const volatile int stop = 1;

  (void)state;
  tlg_host_spin(&c, 3000000, NULL);
  assert_true(c.duration_ns >= 3000000 && c.reads > 0);
  assert_true(c.gap_ns > 0 && c.gap_ns <= c.duration_ns && c.gap_when_ns + c.gap_ns <= c.duration_ns);
  assert_true(c.gaps_10us >= c.gaps_100us && c.gaps_100us >= c.gaps_1ms && c.lost_ns <= c.duration_ns);
  assert_true(c.gap_ns <= 10000 || c.gaps_10us >= 1);
  assert_true(c.gap_ns * c.reads >= c.duration_ns); /* the largest is not below the mean */
  tlg_host_spin(&c, 1000000000000, &stop);
  assert_true(c.reads == 0 && c.duration_ns == 0);
}

static int setup(void **state)
{
  (void)state;
  return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
  (void)state;
  clear();
  return rmdir(root);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_there_is_read),
      cmocka_unit_test(what_is_missing_or_damaged_stays_empty),
      cmocka_unit_test(steal_is_the_eighth_number),
      cmocka_unit_test(the_control_accounts_for_its_time),
  };

  return cmocka_run_group_tests_name("host", tests, setup, teardown);
}
