/* SPDX-License-Identifier: Apache-2.0 */
/* State of the host that timing figures depend on, steal time, and the bare-spin control. */
#include "pace.h"
#include "tlg_replay.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* First line of root/path, without its end, cut to size; "" if it cannot be read. */
static void first_line(char *text, size_t size, const char *root, const char *path)
{
  char name[512];
  FILE *f;

  text[0] = '\0';
  if (snprintf(name, sizeof name, "%s%s", root, path) >= (int)sizeof name || !(f = fopen(name, "r"))) {
    return;
  }
  if (!fgets(text, (int)size, f)) {
    text[0] = '\0';
  }
  text[strcspn(text, "\n")] = '\0';
  fclose(f);
}

/* The value of the first "key : value" line of /proc/cpuinfo. */
static void cpuinfo(char *text, size_t size, const char *root, const char *key)
{
  char name[512], line[4096];
  FILE *f;

  text[0] = '\0';
  if (snprintf(name, sizeof name, "%s/proc/cpuinfo", root) >= (int)sizeof name || !(f = fopen(name, "r"))) {
    return;
  }
  while (fgets(line, sizeof line, f)) {
    const char *colon = strchr(line, ':');

    if (colon && strncmp(line, key, strlen(key)) == 0) {
      colon++;
      while (*colon == ' ') {
        colon++;
      }
      snprintf(text, size, "%.*s", (int)strcspn(colon, "\n"), colon);
      break;
    }
  }
  fclose(f);
}

static int has_word(const char *text, const char *word)
{
  const size_t n = strlen(word);
  const char *p = text;

  while ((p = strstr(p, word))) {
    if ((p == text || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' ')) {
      return 1;
    }
    p += n;
  }
  return 0;
}

void tlg_host_read(struct tlg_host *host, const char *root)
{
  char line[4096], *end;
  struct utsname names;
  cpu_set_t set;
  const char *p;
  int i;

  if (!root) {
    root = "";
  }
  memset(host, 0, sizeof *host);
  host->rt_runtime_us = INT64_MIN;
  if (uname(&names) == 0) {
    snprintf(host->kernel, sizeof host->kernel, "%s %s", names.sysname, names.release);
    snprintf(host->machine, sizeof host->machine, "%s", names.machine);
    host->realtime_kernel = strstr(names.version, "PREEMPT_RT") != NULL;
  }
  cpuinfo(host->cpu_model, sizeof host->cpu_model, root, "model name");
  first_line(host->governor, sizeof host->governor, root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  first_line(host->isolated, sizeof host->isolated, root, "/sys/devices/system/cpu/isolated");
  first_line(host->nohz_full, sizeof host->nohz_full, root, "/sys/devices/system/cpu/nohz_full");
  first_line(host->clocksource, sizeof host->clocksource, root,
             "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  first_line(host->hypervisor, sizeof host->hypervisor, root, "/sys/hypervisor/type");
  if (!host->hypervisor[0]) {
    cpuinfo(line, sizeof line, root, "flags");
    if (has_word(line, "hypervisor")) {
      strcpy(host->hypervisor, "yes");
    }
  }
  first_line(line, sizeof line, root, "/proc/loadavg");
  for (p = line, i = 0; *p && (*p != ' ' || ++i < 3); p++) {
  }
  snprintf(host->load, sizeof host->load, "%.*s", (int)(p - line), line);
  first_line(line, sizeof line, root, "/proc/sys/kernel/sched_rt_runtime_us");
  if (line[0]) {
    const long long value = strtoll(line, &end, 10);

    if (!*end) {
      host->rt_runtime_us = value;
    }
  }
  host->cpus_online = (int)sysconf(_SC_NPROCESSORS_ONLN);
  host->cpus_allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : host->cpus_online;
}

int64_t tlg_host_steal_us(const char *root)
{
  char line[512], *p = line, *end;
  const long tick = sysconf(_SC_CLK_TCK);
  unsigned long long value = 0;
  int field;

  first_line(line, sizeof line, root ? root : "", "/proc/stat");
  if (strncmp(line, "cpu ", 4) != 0 || tick <= 0) {
    return INT64_MIN;
  }
  p += 4;
  for (field = 0; field < 8; field++) { /* user nice system idle iowait irq softirq steal */
    value = strtoull(p, &end, 10);
    if (end == p) {
      return INT64_MIN;
    }
    p = end;
  }
  return (int64_t)(value * (1000000u / (unsigned long long)tick));
}

void tlg_host_spin(struct tlg_spin_control *control, uint64_t duration_ns, const volatile int *stop)
{
  const struct tlg_clock *clock = &tlg_clock_monotonic;
  const uint64_t start = clock->now_ns(clock->context);
  uint64_t last = start;

  memset(control, 0, sizeof *control);
  while (last - start < duration_ns && !(stop && *stop)) {
    const uint64_t now = clock->now_ns(clock->context), gap = now - last;

    control->reads++;
    if (gap > control->gap_ns) {
      control->gap_ns = gap;
      control->gap_when_ns = last - start;
    }
    if (gap > 10000) {
      control->gaps_10us++;
      control->gaps_100us += gap > 100000;
      control->gaps_1ms += gap > 1000000;
      control->lost_ns += gap;
    }
    last = now;
  }
  control->duration_ns = last - start;
}
