/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-512 of data files, as SigMF's core:sha512 wants it. */
#include "reader.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tlg_sha512 {
  EVP_MD_CTX *context;
};

struct tlg_sha512 *tlg_sha512_new(void)
{
  struct tlg_sha512 *h = malloc(sizeof *h);

  if (!h) {
    return NULL;
  }
  h->context = EVP_MD_CTX_new();
  if (!h->context || EVP_DigestInit_ex(h->context, EVP_sha512(), NULL) != 1) {
    EVP_MD_CTX_free(h->context);
    free(h);
    return NULL;
  }
  return h;
}

void tlg_sha512_add(struct tlg_sha512 *h, const void *bytes, size_t n)
{
  EVP_DigestUpdate(h->context, bytes, n);
}

void tlg_sha512_end(struct tlg_sha512 *h, char hex[129])
{
  unsigned char digest[EVP_MAX_MD_SIZE] = {0};
  unsigned n = 0, i;

  EVP_DigestFinal_ex(h->context, digest, &n);
  EVP_MD_CTX_free(h->context);
  free(h);
  for (i = 0; i < 64; i++) {
    snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  }
}

int tlg_sha512_file(int fd, uint64_t offset, uint64_t n, int (*progress)(void *, uint64_t, uint64_t), void *context,
                    char hex[129], struct tlg_error *err)
{
  const size_t block = 1 << 18;
  struct tlg_sha512 *h = tlg_sha512_new();
  uint8_t *buffer = malloc(block);
  uint64_t done = 0;
  int status = TLG_OK;

  if (!h || !buffer) {
    status = tlg_error_set(err, TLG_ENOMEM, "out of memory");
  }
  while (status == TLG_OK && done < n) {
    const size_t m = n - done < block ? (size_t)(n - done) : block;
    const ssize_t got = tlg_pread(fd, buffer, m, offset + done);

    if (got <= 0) {
      status = tlg_error_at(err, TLG_ESYS, 0, offset + done, "cannot read: %s",
                            got < 0 ? strerror(errno) : "it became shorter");
      break;
    }
    tlg_sha512_add(h, buffer, (size_t)got);
    done += (uint64_t)got;
    if (progress && (done % (block * 64) == 0 || done == n) && progress(context, done, n) != 0) {
      status = tlg_error_set(err, TLG_EINTR, "stopped while its hash was being checked");
    }
  }
  if (h) {
    tlg_sha512_end(h, hex);
  }
  free(buffer);
  return status;
}
