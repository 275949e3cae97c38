/* SPDX-License-Identifier: Apache-2.0 */
/* Whether files that a command line names are one and the same, told before any of them is opened for writing. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include <stddef.h>

struct cli_name;
struct cli_names {
  const char *command;
  struct cli_name *list;
  size_t n;
  int stdout_taken; /* an output is stdout, by whatever name: results belong on stderr */
};

/* What is read: text as the user wrote it, with its option ("" for an argument), path = the file ("-" = stdin, NULL =
 * none). A SigMF recording is all of its files. 0, or the exit status after saying why. */
int cli_names_input(struct cli_names *names, const char *option, const char *text, const char *path);
/* What is written (path "-" = stdout). CLI_USAGE if it is an input or an output named before, by device and inode, or
 * by its full path if it does not exist. Devices such as /dev/null may be named as often as one likes. */
int cli_names_output(struct cli_names *names, const char *option, const char *text, const char *path);
void cli_names_free(struct cli_names *names);

#endif
