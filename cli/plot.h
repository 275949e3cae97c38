/* SPDX-License-Identifier: Apache-2.0 */
/* Plots through gnuplot: of a comparison, and of a recording (spectrum and waterfall). */
#ifndef PLOT_H
#define PLOT_H

#include "cli.h"
#include "tlg_spectra.h"

/* Whether a plot could be written to path: known suffix, and nothing there unless force. Prints and returns CLI_USAGE,
 * else 0. Call it before long work. */
int cli_plot_ready(const char *command, const char *path, int force);

/* Output, reference, error and limits of a finished check. Returns the exit status for the plot. */
int cli_plot_check(const char *command, const struct tlg_check *check, const struct tlg_check_result *result,
                   const struct tlg_rate *rate_out, const char *title, const char *path, int force);

/* Spectrum and waterfall of a recording of any length, in flat memory:
 *   cli_scope_open(&s, &rate, n_samples);     0 or a TLG_E*; n_samples UINT64_MAX = not known
 *   cli_scope_push(s, x, n);                  as it is read; gaps may be pushed as zeros
 *   status = cli_scope_plot("info", s, title, frequency_hz, path, force);   NaN = not known
 *   cli_scope_close(s); */
struct cli_scope;
int cli_scope_open(struct cli_scope **scope, const struct tlg_rate *rate, uint64_t n_samples);
void cli_scope_push(struct cli_scope *scope, const tlg_cs16 *x, size_t n);
int cli_scope_plot(const char *command, struct cli_scope *scope, const char *title, double frequency_hz,
                   const char *path, int force);
void cli_scope_close(struct cli_scope *scope);

#endif
