/* SPDX-License-Identifier: Apache-2.0 */
/* Linked into what ThreadSanitizer runs: that a message sent happens before it is received, which libzmq sees to with
 * code that the sanitizer cannot see. Told of a message's own memory alone, so that it excuses nothing else. */
#include <sanitizer/tsan_interface.h>
#include <zmq.h>

int __real_zmq_msg_send(zmq_msg_t *message, void *socket, int flags);
int __real_zmq_msg_recv(zmq_msg_t *message, void *socket, int flags);
int __wrap_zmq_msg_send(zmq_msg_t *message, void *socket, int flags);
int __wrap_zmq_msg_recv(zmq_msg_t *message, void *socket, int flags);

int __wrap_zmq_msg_send(zmq_msg_t *message, void *socket, int flags)
{
  __tsan_release(zmq_msg_data(message));
  return __real_zmq_msg_send(message, socket, flags);
}

int __wrap_zmq_msg_recv(zmq_msg_t *message, void *socket, int flags)
{
  const int size = __real_zmq_msg_recv(message, socket, flags);

  if (size >= 0) {
    __tsan_acquire(zmq_msg_data(message));
  }
  return size;
}
