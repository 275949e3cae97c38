/* SPDX-License-Identifier: Apache-2.0 */
/* SigMF archives: read in place, several recordings, lost and cut data, damaged tars. */
#include "iq_files.h"

#include <archive.h>
#include <archive_entry.h>

struct member {
  const char *name;
  const void *bytes;
  size_t n;
};

static const char meta_cs16[] = "{\"global\": {\"core:datatype\": \"ci16_le\", \"core:sample_rate\": 25000000},\n"
                                "\"captures\": [{\"core:sample_start\": 0}], \"annotations\": []}";

static void put_archive(const char *path, const struct member *m, size_t n, int pax, int gzip)
{
  struct archive *a = archive_write_new();
  size_t k;

  assert_non_null(a);
  assert_int_equal(pax ? archive_write_set_format_pax(a) : archive_write_set_format_ustar(a), ARCHIVE_OK);
  if (gzip) {
    assert_true(archive_write_add_filter_gzip(a) >= ARCHIVE_WARN);
  }
  unlink(path);
  assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
  for (k = 0; k < n; k++) {
    struct archive_entry *e = archive_entry_new();

    archive_entry_set_pathname(e, m[k].name);
    archive_entry_set_size(e, (la_int64_t)m[k].n);
    archive_entry_set_filetype(e, m[k].bytes ? AE_IFREG : AE_IFDIR);
    archive_entry_set_perm(e, 0644);
    if (pax) { /* forces an extended header in front */
      archive_entry_set_mtime(e, 1700000000, 123456789);
    }
    assert_true(archive_write_header(a, e) >= ARCHIVE_WARN);
    assert_int_equal(archive_write_data(a, m[k].bytes, m[k].n), m[k].n);
    archive_entry_free(e);
  }
  assert_int_equal(archive_write_close(a), ARCHIVE_OK);
  archive_write_free(a);
}

static const tlg_cs16 *marks(uint64_t first)
{
  static tlg_cs16 x[2][3000];
  static int turn;
  size_t k;

  turn = !turn;
  for (k = 0; k < 3000; k++) {
    x[turn][k] = marked(first + k);
  }
  return x[turn];
}

static void one_recording(void **unused)
{
  const struct member orders[][3] = {
      {{"rec", NULL, 0}, {"rec/rec.sigmf-meta", meta_cs16, strlen(meta_cs16)}, {"rec/rec.sigmf-data", marks(0), 12000}},
      {{"rec", NULL, 0}, {"rec/rec.sigmf-data", marks(0), 12000}, {"rec/rec.sigmf-meta", meta_cs16, strlen(meta_cs16)}},
      {{"./x y.sigmf-meta", meta_cs16, strlen(meta_cs16)},
       {"./x y.sigmf-data", marks(0), 12000},
       {"readme", "hello", 5}},
  };
  const struct tlg_reader_cfg window = {.start = 2500, .length = 100};
  size_t i;
  int pax;

  (void)unused;
  for (i = 0; i < 3; i++) {
    for (pax = 0; pax < 2; pax++) {
      struct outcome *o;

      put_archive("one.sigmf", orders[i], 3, pax, 0);
      o = accepted("one.sigmf", NULL, 3000, "");
      assert_string_equal(o->hints, "");
      assert_marked(o, 0, 0, 3000);
      assert_int_equal(o->info.container, TLG_CONTAINER_SIGMF_ARCHIVE);
      assert_int_equal(o->info.rate.num, 25000000);
      o = accepted("one.sigmf", &window, 100, "");
      assert_marked(o, 0, 2500, 100);
    }
  }
  assert_int_equal(rename("one.sigmf", "one.tar"), 0);
  accepted("one.tar", NULL, 3000, "");
}

static void several(void **unused)
{
  const struct member m[] = {
      {"a/a.sigmf-meta", meta_cs16, strlen(meta_cs16)},
      {"a/a.sigmf-data", marks(0), 12000},
      {"b/b.sigmf-meta", meta_cs16, strlen(meta_cs16)},
      {"b/b.sigmf-data", marks(7000), 8000},
  };
  struct tlg_reader_cfg cfg = {0};

  (void)unused;
  put_archive("many.sigmf", m, 4, 0, 0);
  refused("many.sigmf", NULL, TLG_EINVAL, "2 recordings: a, b");
  cfg.recording = "b";
  assert_marked(accepted("many.sigmf", &cfg, 2000, ""), 0, 7000, 2000);
  cfg.recording = "a/a.sigmf-meta";
  assert_marked(accepted("many.sigmf", &cfg, 3000, ""), 0, 0, 3000);
  cfg.recording = "c";
  refused("many.sigmf", &cfg, TLG_EINVAL, "no recording 'c' in it; there is: a, b");
}

/* sigmf-python#161: an archive that lost its data. */
static void lost_data(void **unused)
{
  static const char with_dataset[] = "{\"global\": {\"core:datatype\": \"ci16_le\", \"core:dataset\": \"d.bin\"}, "
                                     "\"captures\": [{\"core:sample_start\": 0}]}";
  static const char wrong[] = "{\"global\":\n{\"core:datatype\": 5}}";
  const struct member lost[] = {{"a/a.sigmf-meta", meta_cs16, strlen(meta_cs16)}, {"a/b.sigmf-data", marks(0), 400}};
  const struct member named[] = {{"a/a.sigmf-meta", with_dataset, strlen(with_dataset)}, {"a/d.bin", marks(0), 400}};
  const struct member bad[] = {{"a/a.sigmf-meta", wrong, strlen(wrong)}, {"a/a.sigmf-data", marks(0), 400}};
  const struct member none[] = {{"a", "b", 1}};
  const struct member empty[] = {{"a/a.sigmf-meta", meta_cs16, strlen(meta_cs16)}, {"a/a.sigmf-data", marks(0), 0}};
  struct outcome *o;

  (void)unused;
  put_archive("lost.sigmf", lost, 2, 0, 0);
  refused("lost.sigmf", NULL, TLG_EFORMAT, "but not its samples");
  put_archive("lost.sigmf", named, 2, 0, 0);
  accepted("lost.sigmf", NULL, 100, "");
  put_archive("lost.sigmf", bad, 2, 0, 0);
  o = refused("lost.sigmf", NULL, TLG_EFORMAT, "a.sigmf-meta:2:");
  assert_non_null(strstr(o->err.text, "string"));
  put_archive("lost.sigmf", none, 1, 0, 0);
  refused("lost.sigmf", NULL, TLG_EFORMAT, "no .sigmf-meta");
  put_archive("lost.sigmf", empty, 2, 0, 0);
  refused("lost.sigmf", NULL, TLG_EFORMAT, "empty");
  put_archive("lost.sigmf", lost, 2, 0, 1);
  refused("lost.sigmf", NULL, TLG_EFORMAT, "compressed");
  put_file("lost.sigmf", "", 0);
  refused("lost.sigmf", NULL, TLG_EFORMAT, "empty");
  put_text("lost.sigmf", "this is no archive at all");
  refused("lost.sigmf", NULL, TLG_EFORMAT, "");
  refused("gone.sigmf", NULL, TLG_ESYS, "No such file");
}

/* An archive whose samples come first, as one-pass writers lay it, cut in them: the options stand in for the meta file.
 */
static void cut_before_meta(void **unused)
{
  const struct member m[] = {{"a/a.sigmf-data", marks(0), 12000}, {"a/a.sigmf-meta", meta_cs16, strlen(meta_cs16)}};
  const struct member other[] = {{"a/a.sigmf-data", marks(0), 12000}, {"readme", "hello", 5}};
  struct tlg_reader_cfg cfg = {.rescue = 1};
  struct outcome *o;
  uint8_t *whole;
  size_t n;

  (void)unused;
  put_archive("m.sigmf", m, 2, 0, 0);
  whole = get_file("m.sigmf", &n);
  put_file("m.sigmf", whole, 512 + 4003);
  free(whole);
  refused("m.sigmf", NULL, TLG_EFORMAT, "--rescue with --format and --rate");
  refused("m.sigmf", &cfg, TLG_EFORMAT, "--rescue with --format and --rate");
  cfg.format = TLG_FORMAT_CS16;
  cfg.rate = (struct tlg_rate){25000000, 1};
  o = accepted("m.sigmf", &cfg, 1000, "it was cut");
  assert_marked(o, 0, 0, 1000);
  assert_int_equal(o->info.header_lies, 1);
  assert_int_equal(o->info.tail_bytes, 3);
  assert_int_equal(o->info.rate.num, 25000000);
  cfg.recording = "a";
  accepted("m.sigmf", &cfg, 1000, "it was cut");
  cfg.recording = "b";
  refused("m.sigmf", &cfg, TLG_EFORMAT, "no .sigmf-meta");
  cfg.recording = NULL;
  cfg.rescue = 0;
  refused("m.sigmf", &cfg, TLG_EFORMAT, "--rescue with");
  cfg.rescue = 1;
  put_archive("m.sigmf", other, 2, 0, 0); /* whole, but the meta file was forgotten */
  refused("m.sigmf", NULL, TLG_EFORMAT, "--rescue with --format and --rate");
  assert_marked(accepted("m.sigmf", &cfg, 3000, "no .sigmf-meta"), 0, 0, 3000);
}

/* Cut at every block and at odd places: never silent; what is there is read when asked for. */
static void spoiled(void **unused)
{
  const struct member m[] = {{"a/a.sigmf-meta", meta_cs16, strlen(meta_cs16)}, {"a/a.sigmf-data", marks(0), 12000}};
  const struct tlg_reader_cfg rescue = {.rescue = 1};
  const size_t data_at = 512 + 512 + 512;
  uint8_t *whole, *copy;
  uint32_t state = 4711;
  size_t n, k, round;

  (void)unused;
  put_archive("s.sigmf", m, 2, 0, 0);
  whole = get_file("s.sigmf", &n);
  copy = malloc(n);
  assert_non_null(copy);
  for (k = 0; k < data_at + 12000; k += k < 2000 ? 1 : 501) {
    put_file("s.sigmf", whole, k);
    if (read_all("s.sigmf", NULL)->status != TLG_EFORMAT) {
      fail_msg("cut at %zu: not refused", k);
    }
    if (k > data_at + 4) {
      assert_marked(accepted("s.sigmf", &rescue, (k - data_at) / 4, "it was cut"), 0, 0, (k - data_at) / 4);
    }
  }
  for (round = 0; round < 2000; round++) {
    memcpy(copy, whole, n);
    for (k = 0; k <= round % 3; k++) {
      copy[xorshift(&state) % 2048] = round % 3 == 0 ? 0 : round % 3 == 1 ? '7' : (uint8_t)xorshift(&state);
    }
    put_file("s.sigmf", copy, n);
    survives("s.sigmf", round % 2 ? &rescue : NULL);
  }
  free(whole);
  free(copy);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_recording),   cmocka_unit_test(several), cmocka_unit_test(lost_data),
      cmocka_unit_test(cut_before_meta), cmocka_unit_test(spoiled),
  };

  return cmocka_run_group_tests_name("reader_archive", tests, scratch_make, scratch_remove);
}
