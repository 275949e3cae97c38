/* SPDX-License-Identifier: Apache-2.0 */
/* What the suffix of a file's name tells: one table for readers and writers, so that what is written is read again. */
#include "reader.h"

#include <string.h>
#include <strings.h>

/* .dat .bin .iq .raw and the like tell nothing: the field uses them for any type. */
static const struct {
  const char *suffix;
  enum tlg_format format;
} formats[] = {
    {".cs16", TLG_FORMAT_CS16},      {".sc16", TLG_FORMAT_CS16},   {".ci16", TLG_FORMAT_CS16},
    {".iq16", TLG_FORMAT_CS16},      {".c16", TLG_FORMAT_CS16},    {".complex32s", TLG_FORMAT_CS16},
    {".cf32", TLG_FORMAT_CF32},      {".fc32", TLG_FORMAT_CF32},   {".cfile", TLG_FORMAT_CF32},
    {".complex", TLG_FORMAT_CF32},   {"_fc.raw", TLG_FORMAT_CF32}, {"_fc.iq", TLG_FORMAT_CF32},
    {".cf64", TLG_FORMAT_CF64},      {".fc64", TLG_FORMAT_CF64},   {".cs8", TLG_FORMAT_CS8},
    {".sc8", TLG_FORMAT_CS8},        {".ci8", TLG_FORMAT_CS8},     {".c8", TLG_FORMAT_CS8},
    {".complex16s", TLG_FORMAT_CS8}, {".cu8", TLG_FORMAT_CU8},     {".uc8", TLG_FORMAT_CU8},
    {".complex16u", TLG_FORMAT_CU8}, {".cs32", TLG_FORMAT_CS32},   {".sc32", TLG_FORMAT_CS32},
    {".ci32", TLG_FORMAT_CS32},      {".cu16", TLG_FORMAT_CU16},   {".cu32", TLG_FORMAT_CU32},
};

static const struct {
  const char *suffix;
  enum tlg_container container;
} containers[] = {
    {".sigmf-meta", TLG_CONTAINER_SIGMF},
    {".sigmf-data", TLG_CONTAINER_SIGMF},
    {".sigmf", TLG_CONTAINER_SIGMF_ARCHIVE},
    {".wav", TLG_CONTAINER_WAV},
    {".wave", TLG_CONTAINER_WAV},
    {".rf64", TLG_CONTAINER_RF64},
    {".w64", TLG_CONTAINER_W64},
    {".au", TLG_CONTAINER_AU},
    {".snd", TLG_CONTAINER_AU},
    {".flac", TLG_CONTAINER_FLAC},
    {".bw64", TLG_CONTAINER_OTHER_SNDFILE},
    {".aif", TLG_CONTAINER_OTHER_SNDFILE},
    {".aiff", TLG_CONTAINER_OTHER_SNDFILE},
    {".aifc", TLG_CONTAINER_OTHER_SNDFILE},
    {".caf", TLG_CONTAINER_OTHER_SNDFILE},
};

/* Kinds of files that are neither read nor written: bare samples under such a name would mislead whoever opens it. */
static const char *const foreign[] = {
    ".sigmf-collection",
    ".mat",
    ".npy",
    ".npz",
    ".h5",
    ".hdf5",
    ".pcap",
    ".pcapng",
    ".vrt",
    ".blue",
    ".wv",
    ".tar",
    ".gz",
    ".bz2",
    ".xz",
    ".zst",
    ".zip",
    ".7z",
    ".ogg",
    ".oga",
    ".opus",
    ".mp3",
    ".m4a",
    ".csv",
    ".txt",
    ".json",
    ".xml",
    ".html",
    ".svg",
    ".png",
};

int tlg_has_suffix(const char *path, const char *suffix)
{
  const size_t n = strlen(path), m = strlen(suffix);

  return n > m && strcasecmp(path + n - m, suffix) == 0;
}

enum tlg_format tlg_suffix_format(const char *path, const char **suffix)
{
  size_t i;

  for (i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (tlg_has_suffix(path, formats[i].suffix)) {
      *suffix = formats[i].suffix;
      return formats[i].format;
    }
  }
  return TLG_FORMAT_UNKNOWN;
}

enum tlg_container tlg_suffix_container(const char *path, const char **suffix)
{
  size_t i;

  for (i = 0; i < sizeof containers / sizeof *containers; i++) {
    if (tlg_has_suffix(path, containers[i].suffix)) {
      *suffix = containers[i].suffix;
      return containers[i].container;
    }
  }
  return TLG_CONTAINER_UNKNOWN;
}

const char *tlg_suffix_foreign(const char *path)
{
  size_t i;

  for (i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    if (tlg_has_suffix(path, foreign[i])) {
      return foreign[i];
    }
  }
  return NULL;
}
