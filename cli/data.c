/* SPDX-License-Identifier: Apache-2.0 */
/* Where data (vectors, scenarios, plug-ins) are found: in TAPLAG_DATA if it is set; else beside the binary, then under
 * PREFIX. */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TAPLAG_PREFIX
#define TAPLAG_PREFIX "/usr/local"
#endif

static int holds(const char *root, const char *name, char *path, size_t size)
{
  return (size_t)snprintf(path, size, "%s/%s", root, name) < size && access(path, F_OK) == 0;
}

const char *cli_data_given(void)
{
  const char *given = getenv("TAPLAG_DATA");

  return given && *given ? given : NULL;
}

int cli_data_find(const char *name, char *path, size_t size)
{
  const char *given = cli_data_given();
  char root[4096];
  ssize_t n;

  if (given) { /* whoever names a folder is not served from another one */
    return holds(given, name, path, size);
  }
  n = readlink("/proc/self/exe", root, sizeof root - 32);
  if (n > 0) {
    char *slash;

    root[n] = 0;
    slash = strrchr(root, '/');
    if (slash) {
      *slash = 0;
      if (holds(root, name, path, size)) {
        return 1;
      }
      strcat(root, "/../share/taplag"); /* an installation that was moved as a whole */
      if (holds(root, name, path, size)) {
        return 1;
      }
    }
  }
  return holds(TAPLAG_PREFIX "/share/taplag", name, path, size);
}
