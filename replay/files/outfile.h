/* SPDX-License-Identifier: Apache-2.0 */
/* Inside replay/files/: what the writers need of an output file beyond the public calls. */
#ifndef OUTFILE_H
#define OUTFILE_H

#include "tlg_files.h"

enum outfile_flags {
  OUTFILE_FORCE = 1,     /* an existing file may be replaced */
  OUTFILE_KEEP_PART = 2, /* the temporary is FILE.part and stays when aborted */
  OUTFILE_REGULAR = 4,   /* refuse pipes and devices: the file must be seekable */
};

int tlg_outfile_open_flags(struct tlg_outfile **f, const char *path, unsigned flags, struct tlg_error *err);
/* Whether a file of this name could be opened now, as far as can be told without touching it. */
int tlg_outfile_check(const char *path, unsigned flags, struct tlg_error *err);
/* Whether the folder that a file is to be made in is one and takes it: 0, or the errno that tells why not. */
int tlg_outfile_folder(const char *path);
/* Its descriptor, open for reading and writing. */
int tlg_outfile_fd(const struct tlg_outfile *f);
/* Take room on the disk for a file of so many bytes, where the file system can; its size stays what is written, and
 * what is left over goes back at close. TLG_ESYS: there is no room. */
int tlg_outfile_reserve(struct tlg_outfile *f, uint64_t bytes, struct tlg_error *err);
/* n bytes at an offset (headers, once their contents are known). Regular files only. */
int tlg_outfile_write_at(struct tlg_outfile *f, const void *bytes, size_t n, uint64_t offset, struct tlg_error *err);
/* The error for errno `number` while writing to f: TLG_EPIPE or TLG_ESYS. */
int tlg_outfile_failed(const struct tlg_outfile *f, int number, struct tlg_error *err);

#endif
