/* SPDX-License-Identifier: Apache-2.0 */
/* The PHY of phy.h as a program: phy_client rx ENDPOINT BYTES SAMPLES RATE PAUSE_MS FILE takes SAMPLES samples of BYTES
 * each, as a PHY of that rate does (0: as fast as it can), and writes them to FILE; phy_client tx ENDPOINT FILE MESSAGE
 * answers with the contents of FILE, MESSAGE bytes at a time, then with nothing for half a second. */
#include "phy.h"

static int receive(char **argv)
{
  const size_t sample_bytes = (size_t)atoi(argv[3]), wanted = (size_t)atoll(argv[4]) * sample_bytes;
  const double rate = atof(argv[5]);
  const size_t step = rate > 0 ? (size_t)(rate / 1000) : 30720;
  struct phy phy = {0};
  size_t done = 0, i;
  FILE *f = fopen(argv[7], "wb");

  if (!f || phy_connect(&phy, argv[2], sample_bytes)) {
    return 1;
  }
  for (i = 0; i < 101 && phy.bytes < wanted; i++) {
    if (phy_fetch(&phy, 20000) < 0) {
      return 2;
    }
  }
  phy_sleep_ns((uint64_t)atoi(argv[6]) * 1000000u);
  while (done < wanted) {
    const size_t n = (wanted - done) / sample_bytes < step ? (wanted - done) / sample_bytes : step;

    if (rate > 0 ? !phy_read(&phy, n, rate, 20000)
                 : phy.bytes < done + n * sample_bytes && phy_fetch(&phy, 20000) < 0) {
      return 2;
    }
    done = rate > 0 ? done + n * sample_bytes : phy.bytes;
    if (phy.ring + 2 * phy.longest <= PHY_RING_BYTES && phy.bytes < wanted) {
      phy_ask(&phy); /* its receiving thread asks ahead */
    }
  }
  phy_vanish(&phy);
  i = fwrite(phy.data, 1, wanted < phy.bytes ? wanted : phy.bytes, f);
  free(phy.data);
  return fclose(f) || i != wanted;
}

static int transmit(char **argv)
{
  void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_REP);
  const size_t message = (size_t)atoll(argv[4]);
  unsigned char *buf = malloc(message ? message : 1);
  FILE *f = fopen(argv[3], "rb");
  zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
  size_t n = 1;
  int empty = 0, asked = 0;

  if (!f || !buf || zmq_bind(socket, argv[2])) {
    return 1;
  }
  while (empty < 500 && zmq_poll(&item, 1, asked ? 700 : 20000) == 1) {
    asked = 1;
    zmq_recv(socket, buf, message, 0);
    n = n ? fread(buf, 1, message, f) : 0;
    empty += !n;
    zmq_send(socket, buf, n, 0);
  }
  zmq_close(socket);
  zmq_ctx_term(context);
  free(buf);
  return fclose(f);
}

int main(int argc, char **argv)
{
  if (argc == 8 && strcmp(argv[1], "rx") == 0) {
    return receive(argv);
  }
  if (argc == 5 && strcmp(argv[1], "tx") == 0) {
    return transmit(argv);
  }
  return 9;
}
