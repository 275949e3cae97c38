/* SPDX-License-Identifier: Apache-2.0 */
/* Where data (vectors, scenarios, plug-ins) are found. */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>

/* The path of a data file or folder such as "vectors/manifest.json": under TAPLAG_DATA, else beside the binary, else
 * under PREFIX/share/taplag. Returns whether it is there. */
int cli_data_find(const char *name, char *path, size_t size);

#endif
