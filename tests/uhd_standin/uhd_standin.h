/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in's radio receives at sample `number` on its air. */
#ifndef UHD_STANDIN_H
#define UHD_STANDIN_H

#include <stdint.h>

__attribute__((visibility("default"))) void uhd_standin_sample(uint64_t number, int16_t *i, int16_t *q);

#endif
