// SPDX-License-Identifier: Apache-2.0
// bench-omniorb: blocks of samples from one process to another through omniORB; run by 'taplag bench hops'.
//
// Arguments: tcp|unix oneway|twoway FIFO-PRIORITY WARM-UP REPETITIONS SIZE...
// For each size one line on stdout: SIZE TOTAL_NS DELAY_NS..., the delays of single blocks sent into an idle hop, from
// before the call to the servant's first instruction; and the time in which all repetitions passed when sent at once.
#include "hop.hh"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace {

enum { MOST = 100000, WAIT_S = 20 };

// Between the two processes.
struct Shared {
  unsigned received; // blocks since the last reset; a futex
  unsigned long long begin[MOST], end[MOST];
};
Shared *shared;

unsigned long long now_ns()
{
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1000000000ull * static_cast<unsigned long long>(t.tv_sec) + static_cast<unsigned long long>(t.tv_nsec);
}

bool wait_for(unsigned count)
{
  for (;;) {
    const unsigned seen = __atomic_load_n(&shared->received, __ATOMIC_ACQUIRE);
    if (seen >= count) {
      return true;
    }
    const timespec limit = {WAIT_S, 0};
    if (syscall(SYS_futex, &shared->received, FUTEX_WAIT, seen, &limit, nullptr, 0) < 0 && errno == ETIMEDOUT) {
      return false;
    }
  }
}

class Servant : public POA_taplag::Hop {
  void take(CORBA::ULong number)
  {
    if (number < MOST) {
      shared->end[number] = now_ns();
    }
    __atomic_fetch_add(&shared->received, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &shared->received, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

public:
  void post(CORBA::ULong number, const taplag::Block &) override { take(number); }
  void hand_over(CORBA::ULong number, const taplag::Block &) override { take(number); }
};

CORBA::ORB_ptr start_orb(const char *end_point)
{
  const char *options[][2] = {{"giopMaxMsgSize", "8388608"}, {"clientTransportRule", "* unix,tcp"},
                              {"endPoint", end_point},       {nullptr, nullptr}};
  int argc = 0;
  return CORBA::ORB_init(argc, nullptr, "omniORB4", end_point ? options : nullptr);
}

void real_time(int priority)
{
  const sched_param param = {priority};
  if (priority > 0 && sched_setscheduler(0, SCHED_FIFO, &param) != 0) {
    std::fprintf(stderr, "bench-omniorb: SCHED_FIFO is not permitted: %s\n", std::strerror(errno));
    _exit(5);
  }
}

int serve(const char *end_point, int to_client)
{
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  CORBA::ORB_var orb = start_orb(end_point);
  CORBA::Object_var root = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var poa = PortableServer::POA::_narrow(root);
  Servant *servant = new Servant;
  PortableServer::ObjectId_var id = poa->activate_object(servant);
  CORBA::Object_var object = servant->_this();
  CORBA::String_var reference = orb->object_to_string(object);
  const size_t n = std::strlen(reference);
  if (write(to_client, reference, n) != static_cast<ssize_t>(n)) {
    return 4;
  }
  close(to_client);
  poa->the_POAManager()->activate();
  orb->run();
  return 0;
}

std::string read_all(int fd)
{
  std::string text;
  char buf[4096];
  ssize_t n;
  while ((n = read(fd, buf, sizeof buf)) > 0) {
    text.append(buf, static_cast<size_t>(n));
  }
  return text;
}

bool measure(taplag::Hop_ptr hop, bool oneway, unsigned warm_up, unsigned repetitions, size_t size)
{
  taplag::Block data;
  data.length(static_cast<CORBA::ULong>(size));
  std::memset(data.get_buffer(), 0x55, size);
  __atomic_store_n(&shared->received, 0, __ATOMIC_RELEASE);
  for (unsigned k = 0; k < warm_up + repetitions; k++) {
    shared->begin[k] = now_ns();
    if (oneway) {
      hop->post(k, data);
    } else {
      hop->hand_over(k, data);
    }
    if (!wait_for(k + 1)) {
      return false;
    }
  }
  std::vector<unsigned long long> delays;
  for (unsigned k = warm_up; k < warm_up + repetitions; k++) {
    delays.push_back(shared->end[k] - shared->begin[k]);
  }
  __atomic_store_n(&shared->received, 0, __ATOMIC_RELEASE);
  const unsigned long long begin = now_ns();
  for (unsigned k = 0; k < repetitions; k++) {
    if (oneway) {
      hop->post(MOST, data);
    } else {
      hop->hand_over(MOST, data);
    }
  }
  if (!wait_for(repetitions)) {
    return false;
  }
  std::printf("%zu %llu", size, now_ns() - begin);
  for (const unsigned long long d : delays) {
    std::printf(" %llu", d);
  }
  std::printf("\n");
  return std::fflush(stdout) == 0;
}

} // namespace

int main(int argc, char **argv)
{
  if (argc < 7 || (std::strcmp(argv[1], "tcp") != 0 && std::strcmp(argv[1], "unix") != 0) ||
      (std::strcmp(argv[2], "oneway") != 0 && std::strcmp(argv[2], "twoway") != 0)) {
    std::fprintf(stderr, "Usage: bench-omniorb tcp|unix oneway|twoway FIFO-PRIORITY WARM-UP REPETITIONS SIZE...\n"
                         "It is run by 'taplag bench hops'.\n");
    return 2;
  }
  const bool tcp = std::strcmp(argv[1], "tcp") == 0;
  const bool oneway = std::strcmp(argv[2], "oneway") == 0;
  const int priority = std::atoi(argv[3]);
  const unsigned warm_up = static_cast<unsigned>(std::atoi(argv[4]));
  const unsigned repetitions = static_cast<unsigned>(std::atoi(argv[5]));
  char folder[] = "/tmp/bench-omniorb-XXXXXX";
  if (repetitions < 1 || warm_up + static_cast<unsigned long long>(repetitions) > MOST) {
    std::fprintf(stderr, "bench-omniorb: from 1 to %d repetitions, the warm-up included\n", MOST);
    return 2;
  }
  void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int pipes[2];
  if (memory == MAP_FAILED || pipe(pipes) != 0 || !mkdtemp(folder)) {
    std::perror("bench-omniorb");
    return 4;
  }
  shared = static_cast<Shared *>(memory);
  const std::string socket = std::string(folder) + "/hop";
  const std::string end_point = tcp ? "giop:tcp:127.0.0.1:" : "giop:unix:" + socket;
  int status = 4;
  const pid_t child = fork();
  if (child == 0) {
    close(pipes[0]);
    real_time(priority);
    try {
      _exit(serve(end_point.c_str(), pipes[1]));
    } catch (const CORBA::Exception &e) {
      std::fprintf(stderr, "bench-omniorb: the server stopped: %s\n", e._name());
    }
    _exit(4);
  }
  close(pipes[1]);
  if (child > 0) {
    real_time(priority);
    try {
      CORBA::ORB_var orb = start_orb(nullptr);
      CORBA::Object_var object = orb->string_to_object(read_all(pipes[0]).c_str());
      taplag::Hop_var hop = taplag::Hop::_narrow(object);
      status = CORBA::is_nil(hop) ? 4 : 0;
      for (int i = 6; i < argc && !status; i++) {
        if (!measure(hop, oneway, warm_up, repetitions, static_cast<size_t>(std::atol(argv[i])))) {
          std::fprintf(stderr, "bench-omniorb: a block did not arrive within %d s\n", WAIT_S);
          status = 4;
        }
      }
    } catch (const CORBA::Exception &e) {
      std::fprintf(stderr, "bench-omniorb: the client stopped: %s\n", e._name());
      status = 4;
    }
    kill(child, SIGTERM);
    waitpid(child, nullptr, 0);
  }
  unlink(socket.c_str());
  rmdir(folder);
  return status;
}
