/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of packets, and those that are to be lost, as the command line or a file lists them. */
#include "replay_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One packet size: a number, or uhdBYTES: a UHD frame of so many bytes less 16 for its header, 4 bytes a sample. */
static int packet_size(struct replay *r, const char *text, uint32_t *size)
{
  uint64_t n = 0;
  int status;

  if (strncmp(text, "uhd", 3) == 0) {
    status = cli_count(r->command, "--packet", text + 3, &n);
    n = n > 16 ? (n - 16) / 4 : 0;
  } else {
    status = cli_count(r->command, "--packet", text, &n);
  }
  if (!status && (n < 1 || n > 1 << 22)) {
    status = cli_usage(r->command, "--packet %s: a packet has from 1 to 4194304 samples", text);
  }
  *size = (uint32_t)n;
  return status;
}

/* Cut text at any of the delimiters and take each part as a packet size. Nothing may stand between two commas; between
 * blanks and lines it may. */
static int packet_list(struct replay *r, char *text, const char *delimiters)
{
  char *rest = text, *part;
  int status = 0;

  while (rest && !status) {
    uint32_t *more;

    part = strsep(&rest, delimiters);
    if (!*part && delimiters[1]) {
      continue;
    }
    if (!*part) {
      return cli_usage(r->command, "--packet %s: a size is missing beside a comma", replay_options.packet);
    }
    more = realloc(r->packets, (r->cfg.n_packets + 1) * sizeof *more);

    if (!more) {
      cli_say(r->command, "out of memory");
      return CLI_SYSTEM;
    }
    r->packets = more;
    status = packet_size(r, part, &r->packets[r->cfg.n_packets++]);
  }
  return status;
}

static int packet_file(struct replay *r, const char *path)
{
  enum { LARGEST = 1 << 24 };
  FILE *f = fopen(path, "r");
  char *text = NULL;
  size_t n = 0;
  int status;

  if (!f) {
    cli_say(r->command, "--packet: %s: %s", path, strerror(errno));
    return CLI_SYSTEM;
  }
  text = malloc(LARGEST + 1);
  if (text) {
    n = fread(text, 1, LARGEST, f);
    text[n] = '\0';
  }
  if (!text || ferror(f)) {
    cli_say(r->command, "--packet: %s: cannot be read", path);
    status = CLI_SYSTEM;
  } else if (n == LARGEST || memchr(text, '\0', n)) {
    cli_say(r->command, "--packet: %s: not a list of packet sizes, one a line", path);
    status = CLI_BAD_INPUT;
  } else {
    status = packet_list(r, text, " \t\r\n,");
    status = status == CLI_USAGE ? CLI_BAD_INPUT : status;
  }
  free(text);
  fclose(f);
  return status;
}

int replay_packet_option(struct replay *r)
{
  char *text;
  int status;

  if (!replay_options.packet && replay_options.scenario) { /* the scenario's */
    return 0;
  }
  r->run.packet_text = replay_options.packet  ? replay_options.packet
                       : tlg_live_is(r->path) ? "what each read gave"
                                              : "625";
  if (!replay_options.packet && tlg_live_is(r->path)) {
    return 0;
  }
  if (replay_options.packet && replay_options.packet[0] == '@') {
    status = packet_file(r, replay_options.packet + 1);
  } else {
    text = strdup(r->run.packet_text);
    status = text ? packet_list(r, text, ",") : CLI_SYSTEM;
    free(text);
  }
  if (!status && !r->cfg.n_packets) {
    status = cli_usage(r->command, "--packet %s: no packet size", replay_options.packet);
  }
  r->cfg.packets = r->packets;
  return status;
}

int replay_drop_option(struct replay *r)
{
  char *text, *rest;
  int status = 0;

  if (!replay_options.drop_packets) {
    return 0;
  }
  text = strdup(replay_options.drop_packets);
  r->drops = malloc((strlen(replay_options.drop_packets) + 1) * sizeof *r->drops);
  if (!text || !r->drops) {
    cli_say(r->command, "out of memory");
    status = CLI_SYSTEM;
  }
  rest = text;
  while (rest && !status) {
    const size_t i = r->cfg.n_drops;
    const char *part = strsep(&rest, ",");

    status = *part ? cli_count(r->command, "--drop-packet", part, &r->drops[i])
                   : cli_usage(r->command, "--drop-packet %s: a number is missing beside a comma",
                               replay_options.drop_packets);
    if (!status && i && r->drops[i] <= r->drops[i - 1]) {
      status = cli_usage(r->command, "--drop-packet %s: the numbers must rise", replay_options.drop_packets);
    }
    r->cfg.n_drops++;
  }
  free(text);
  r->cfg.drops = r->drops;
  return status;
}
