/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files: values and units, every mistake with its line, sizes on the wire and in the kernel's accounts. */
#include "sim_help.h"

#include <unistd.h>

static char path[] = "/tmp/taplag-scenario-XXXXXX";

static int read_text(const char *text, const char *const *settings, struct tlg_sim_scenario **s, struct tlg_error *err)
{
  FILE *f = fopen(path, "w");
  int status;

  assert_non_null(f);
  fputs(text, f);
  fclose(f);
  memset(err, 0, sizeof *err);
  status = tlg_sim_scenario_read(s, path, settings, err);
  return status;
}

static void refused(const char *text, unsigned line, const char *words)
{
  struct tlg_sim_scenario *s = (void *)1;
  struct tlg_error err;
  const int status = read_text(text, NULL, &s, &err);

  if (status != TLG_EFORMAT || err.line != line || !strstr(err.text, words)) {
    fail_msg("'%s': status %d, line %u, '%s'; wanted line %u, '%s'", text, status, err.line, err.text, line, words);
  }
  assert_null(s);
}

static void mistakes(void **state)
{
  (void)state;
  refused("source = { packet = 364; };\nsorce = 1;\n", 2, "unknown key 'sorce'");
  refused("source = {\n  packet = 364;\n  paket = 1;\n};\n", 3, "unknown key 'paket' in source");
  refused("source = {\n packet = 0; };\n", 2, "1 to 10000000");
  refused("source = {\n packet = -5; };\n", 2, "1 to 10000000");
  refused("source = {\n packet = 3.5; };\n", 2, "whole");
  refused("source = {\n packet = [364, 0]; };\n", 2, "1 to 10000000");
  refused("source = {\n rate = \"fast\"; };\n", 2, "rate");
  refused("source = {\n rate = -1; };\n", 2, "no rate");
  refused("source = {\n arrivals = \"sometimes\"; };\n", 2, "none of: clock, poisson");
  refused("source = { packet = 364; }\nnic = {\n moderation = \"of\"; };\n", 3, "none of: off");
  refused("source = { packet = 364; }\nnetwork = {\n mtu = 100; };\n", 3, "outside 576 to 65535");
  refused("source = {\n\n packet = 20000; };\nnetwork = { link = \"10G\"; };\n", 3, "more than one UDP datagram");
  refused("source = { packet = 364; };\nduration_s = 0.0;\n", 2, "outside");
  refused("source = { packet = 364; };\nduration_s = 1e-6;\n", 2, "shorter than one packet");
  refused("source = { packet = 364; };\nwarmup = 1.5;\n", 2, "outside 0 to 0.9");
  refused("source = { packet = 364; };\nseed = \"x\";\n", 2, "wants a number");
  refused("source = { packet = 364; };\nthreads = ( { name = \"a\"; } );\n", 2, "wants stages");
  refused("source = { packet = 364; };\nthreads = ( { stages = ( {\n fixed_us = -1; } ); } );\n", 3, "outside");
  refused("source = { packet = 364; };\nthreads = ( { stages = ( { jitter = {\n kind = \"exponential\"; }; } ); } );\n",
          2, "mean_us");
  refused("source = { packet = 364; };\nthreads = ( { stages = ( { fixed_us = 1; } ); overrun = \"block\"; queue = 4; "
          "} );\n",
          2, "first thread");
  refused("source = { packet = 364; };\nstalls = ( {\n on = \"nobody\"; every_s = 1.0; length_us = 5; } );\n", 3,
          "no thread or stage");
  refused("source = { packet = 364; };\nstalls = ( { every_s = 1.0; length_us = 2e6; } );\n", 2, "no time to work");
  refused("source = { packet = 364; };\nphy = {\n rate = \"30.720001M\"; };\n", 3, "65535");
  refused("source = { packet = 364; };\nhop = {\n transport = \"pigeon\"; };\n", 3, "none of: shm");
  refused("source = { packet = 364; };\nhop = {\n transport = \"shm\"; points = ( { bytes = 4; } ); };\n", 3,
          "exclude");
  refused("source = { packet = 364; };\nhop = {\n points = ( { bytes = 4; busy_us = 0; latency_us = 1; },\n{ bytes = "
          "4; busy_us = 0; latency_us = 1; } ); };\n",
          4, "rise");
  refused("source = { packet = 364; };\nhop = {\n points = ( { busy_us = 4.0; } ); };\n", 3, "needs its bytes");
  refused("source = { packet = 364; };\nhop = {\n points = ( { bytes = 4; busy_us = 4.0; } ); };\n", 3,
          "needs its busy_us");
  refused("", 1, "source is missing");
  refused("threads = ( { stages = ( { name = \"a\"; fixed_us = 1; }, { name = \"a\"; fixed_us = 1; } ); } );\nsource = "
          "{ packet = 364; };",
          1, "a");
  refused("source = { packet = 364; };\nhop = {\n points = 5; };\n", 3, "wants a list");
  refused("source = { packet = 364; };\nhop = {\n points = ( 5 ); };\n", 3, "is a group");
  refused(
      "source = { packet = 364; };\nhop = {\n points = ( { bytes = 4; busy_us = 1; latency_us = 1; joy = 1; } ); };\n",
      3, "unknown key");
  refused("source = { packet = 364; };\nsocket = {\n buffer_bytes = 100; };\nthreads = ( { stages = ( { fixed_us = 1; "
          "} ); } );\n",
          3, "charged 2304 bytes");
  refused("source = { packet = 364; };\nsocket = { buffer_bytes = 100000; };\n", 2, "without a thread");
  refused("source = { packet = 364;\n", 2, "");
  refused("source = { packet = \"no-such-file\"; };\n", 1, "cannot be read");
}

/* Own points are read as the tables are: straight between them. */
static void hop_points(void **state)
{
  struct tlg_sim_scenario *s;
  struct tlg_error err;

  (void)state;
  if (read_text("source = { packet = 364; };\nhop = { points = ( { bytes = 256; busy_us = 0.8; latency_us = 7.2; }, "
                "{ bytes = 65536; busy_us = 7.4; latency_us = 0.0; } ); };\n",
                NULL, &s, &err) != TLG_OK) {
    fail_msg("%s", err.text);
  }
  assert_int_equal(s->n_hop_points, 2);
  assert_int_equal(s->hop_points[0].bytes, 256);
  assert_int_equal(s->hop_points[0].busy_ps, 800000);
  assert_int_equal(s->hop_points[0].latency_ps, 7200000);
  assert_int_equal(s->hop_points[1].bytes, 65536);
  assert_int_equal(s->hop_points[1].busy_ps, 7400000);
  assert_int_equal(s->hop_points[1].latency_ps, 0);
  tlg_sim_scenario_free(s);
}

static void settings(void **state)
{
  static const char base[] =
      "source = { rate = \"25M\"; packet = 364; };\nthreads = ( { name = \"l0\"; stages = ( { name = "
      "\"receive\"; fixed_us = 9; }, { name = \"resample\"; fixed_us = 15; } ); } );\n";
  const char *good[] = {"packet=100",
                        "resample.fixed_us=1.5",
                        "network.link=10G",
                        "phy.offset=7",
                        "duration_s=0.5",
                        "resample.jitter.kind=uniform",
                        "resample.jitter.low_us=1",
                        "resample.jitter.high_us=2",
                        "l0.core=3",
                        NULL};
  const char *unknown[] = {"packets_=100", NULL}, *nobody[] = {"decimate.fixed_us=1", NULL},
             *wrong[] = {"packet=0", NULL}, *none[] = {"packet", NULL}, *empty[] = {"packet=", NULL};
  struct tlg_sim_scenario *s;
  struct tlg_error err;

  (void)state;
  if (read_text(base, good, &s, &err) != TLG_OK) {
    fail_msg("%s", err.text);
  }
  assert_int_equal(s->sizes[0], 100);
  assert_int_equal(s->threads[0].stages[1].cost.fixed_ps, 1500000);
  assert_int_equal(s->threads[0].stages[1].cost.jitter.kind, TLG_DIST_UNIFORM);
  assert_int_equal(s->threads[0].stages[1].cost.jitter.high_ps, 2000000);
  assert_int_equal(s->threads[0].core, 3);
  assert_int_equal(s->link_bps, 10000000000u);
  assert_int_equal(s->offset, 7);
  assert_int_equal(s->n_packets, 125000);
  tlg_sim_scenario_free(s);
  assert_int_equal(read_text(base, unknown, &s, &err), TLG_EINVAL);
  assert_non_null(strstr(err.text, "--set packets_=100"));
  assert_int_equal(read_text(base, nobody, &s, &err), TLG_EINVAL);
  assert_non_null(strstr(err.text, "named 'decimate'"));
  assert_int_equal(read_text(base, wrong, &s, &err), TLG_EINVAL);
  assert_non_null(strstr(err.text, "--set packet=0"));
  assert_int_equal(read_text(base, none, &s, &err), TLG_EINVAL);
  assert_non_null(strstr(err.text, "key=value"));
  assert_int_equal(read_text(base, empty, &s, &err), TLG_EINVAL);
  assert_non_null(strstr(err.text, "--set packet=: wants a value"));
  assert_int_equal(tlg_sim_scenario_read(&s, "/", NULL, &err), TLG_ESYS);
  assert_non_null(strstr(err.text, "is a folder"));
}

static void units_and_defaults(void **state)
{
  struct tlg_sim_scenario *s;
  struct tlg_error err;

  (void)state;
  if (read_text("source = { rate = \"184320000/7\"; packet = [362, 364]; };\nduration_s = 2;\nswitch_us = 1.5;\n"
                "threads = ( { wake_us = 3; stages = ( { sample_ns = 0.0225; alloc_us = 25; } ); } );\n"
                "stalls = ( { every_s = 5; phase_s = 2.5; length_us = { kind = \"histogram\"; bins_us = ((1, 2, 3), "
                "(5, 9, 1)); }; } );\n"
                "phy = { rate = \"30.72M\"; };",
                NULL, &s, &err) != TLG_OK) {
    fail_msg("%u: %s", err.line, err.text);
  }
  assert_int_equal(s->rate.num, 184320000);
  assert_int_equal(s->rate.den, 7);
  assert_int_equal(s->n_sizes, 2);
  assert_int_equal(s->n_packets, (uint64_t)2 * 184320000 / (7 * 363));
  assert_int_equal(s->switch_ps, 1500000);
  assert_int_equal(s->threads[0].wake_ps, 3000000);
  assert_int_equal(s->threads[0].stages[0].cost.per_sample_fs, 22500);
  assert_int_equal(s->threads[0].stages[0].cost.alloc_ps, 25000000);
  assert_int_equal(s->up, 7);
  assert_int_equal(s->down, 6);
  assert_int_equal(s->deadline_ps, 1200000000);
  assert_int_equal(s->stalls[0].on, TLG_STALL_HOST);
  assert_int_equal(tlg_dist_mean(&s->stalls[0].length), (uint64_t)(1e6 * (0.75 * 1.5 + 0.25 * 7)));
  tlg_sim_scenario_free(s);
}

/* Packets a second that a link takes, the frame's size being counted without its check sum. */
static void wire(void **state)
{
  static const struct {
    uint32_t frame;
    uint64_t per_second;
  } ten[] = {{60, 14880952}, {1514, 812744}, {9014, 138305}};
  struct tlg_sim_scenario *s = help_scenario(364, 1);
  struct tlg_sim_frame f;
  size_t i;

  (void)state;
  s->sample_bytes = 1;
  s->header_bytes = 0;
  s->mtu = 9000;
  for (i = 0; i < 3; i++) {
    tlg_sim_frame(s, ten[i].frame - 42, &f); /* 14 Ethernet, 20 IP, 8 UDP */
    assert_int_equal(f.frames, 1);
    assert_int_equal((10000000000u + f.wire_bytes * 4) / (f.wire_bytes * 8), ten[i].per_second);
  }
  tlg_sim_frame(s, 1, &f); /* the shortest frame is padded */
  assert_int_equal(f.wire_bytes, 84);
  s->sample_bytes = 4;
  s->header_bytes = 16;
  s->mtu = 1500;
  tlg_sim_frame(s, 32, &f);
  assert_int_equal(f.wire_bytes * 8 * 781250, 1312500000); /* 131 % of 1 Gbit/s */
  tlg_sim_frame(s, 64, &f);
  assert_int_equal(f.wire_bytes * 8 * 390625, 1056250000);
  tlg_sim_frame(s, 364, &f);
  assert_int_equal(f.wire_bytes * 8 * 25000000 / 364, 845054945);
  tlg_sim_frame(s, 1000, &f); /* 4024 bytes with UDP: 1480 + 1480 + 1064 */
  assert_int_equal(f.frames, 3);
  assert_int_equal(f.wire_bytes, 4024 + 3 * 58);
  tlg_sim_scenario_free(s);
}

/* Datagrams that a buffer of 212,992 bytes held on a real kernel, and of 425,984 and 5,000,000. */
static void kernel_accounts(void **state)
{
  static const struct {
    uint32_t bytes;
    uint64_t buffer, holds;
  } seen[] = {{144, 212992, 256}, {1472, 212992, 92},  {2064, 212992, 48}, {8000, 212992, 12},    {32784, 212992, 6},
              {65507, 212992, 3}, {1472, 425984, 184}, {8016, 425984, 25}, {1472, 5000000, 2170}, {8016, 5000000, 300}};
  struct tlg_sim_scenario *s = help_scenario(1, 1);
  struct tlg_sim_frame f;
  size_t i;

  (void)state;
  s->sample_bytes = 1;
  s->header_bytes = 0;
  for (i = 0; i < sizeof seen / sizeof *seen; i++) {
    tlg_sim_frame(s, seen[i].bytes, &f);
    assert_int_equal(seen[i].buffer / f.charged_bytes, seen[i].holds);
  }
  tlg_sim_scenario_free(s);
}

/* The scenarios that come with the program are read; each names itself as its file. */
static void our_own(void **state)
{
  static const char *const names[] = {"usrpl0-subframe",        "usrpl0-second-queue",    "usrpl0-packet-serial",
                                      "usrpl0-packet-threaded", "usrpl0-three-packets",   "usrpl0-diskflush",
                                      "usrpl0-moderation",      "usrpl0-moderation-bulk", "usrpl0-tuned",
                                      "camera-10gbe-default",   "camera-10gbe-tuned",     "bluetooth-poll-before",
                                      "bluetooth-poll-after",   "published-x310-dpdk",    "template"};
  struct tlg_sim_scenario *s;
  struct tlg_error err;
  char file[128];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(file, sizeof file, "sim/scenarios/%s.cfg", names[i]);
    if (access(file, R_OK) != 0) {
      skip(); /* not run from the source tree */
    }
    if (tlg_sim_scenario_read(&s, file, NULL, &err) != TLG_OK) {
      fail_msg("%s:%u: %s", file, err.line, err.text);
    }
    assert_string_equal(s->name, names[i]);
    tlg_sim_scenario_free(s);
  }
}

static void a_recorded_pattern(void **state)
{
  char pattern[] = "/tmp/taplag-pattern-XXXXXX", text[200];
  const int fd = mkstemp(pattern);
  struct tlg_sim_scenario *s;
  struct tlg_error err;

  (void)state;
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "# seen\n362\n\n364\n100\n", 20), 20);
  close(fd);
  snprintf(text, sizeof text, "source = { packet = \"%s\"; };", pattern);
  assert_int_equal(read_text(text, NULL, &s, &err), TLG_OK);
  assert_int_equal(s->n_sizes, 3);
  assert_int_equal(s->sizes[2], 100);
  tlg_sim_scenario_free(s);
  unlink(pattern);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mistakes), cmocka_unit_test(hop_points),
      cmocka_unit_test(settings), cmocka_unit_test(units_and_defaults),
      cmocka_unit_test(wire),     cmocka_unit_test(kernel_accounts),
      cmocka_unit_test(our_own),  cmocka_unit_test(a_recorded_pattern),
  };
  const int fd = mkstemp(path);
  int failed;

  if (fd < 0) {
    return 1;
  }
  close(fd);
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
