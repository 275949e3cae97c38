/* SPDX-License-Identifier: Apache-2.0 */
/* Where data (vectors, scenarios, plug-ins) are found. */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>

/* The folder that TAPLAG_DATA names; NULL if it is not set, or empty. */
const char *cli_data_given(void);

/* The path of a data file or folder such as "vectors/manifest.json": under TAPLAG_DATA and nowhere else if that is set,
 * else beside the binary, else under PREFIX/share/taplag. Returns whether it is there. */
int cli_data_find(const char *name, char *path, size_t size);

#endif
