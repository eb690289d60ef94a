#include "tests/runtime/workers/fake_nccl.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <thread>

using orrery::worker::FakeNccl;

namespace {

FakeNccl control;

struct Communicator {
  std::atomic<int> polls{0};
  std::atomic<bool> aborted{false};
};

struct UniqueId {
  char bytes[128];
};

struct ConfigHead {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

constexpr int kInProgress = 7;

}  // namespace

extern "C" {

FakeNccl* fake_nccl_control() { return &control; }

int ncclGetVersion(int* version) {
  *version = 22809;
  return 0;
}

int ncclGetUniqueId(UniqueId* out) {
  std::memset(out->bytes, 'u', sizeof out->bytes);
  return 0;
}

int ncclCommInitRankConfig(Communicator** out, int, UniqueId id, int, ConfigHead* config) {
  if (id.bytes[127] != 'u' || config->magic != 0xcafebeef) return 4;
  if (config->blocking != 0) ++control.blocking_configs;
  ++control.inits;
  if (control.error_at_init != 0) return control.error_at_init;
  static std::deque<Communicator> all;  // Kept, so that a late use can be counted.
  *out = &all.emplace_back();
  return kInProgress;
}

int ncclCommGetAsyncError(Communicator* communicator, int* error) {
  if (communicator->aborted) ++control.uses_after_abort;
  *error = control.async_error;
  if (*error == 0 && (control.init_hangs || communicator->polls++ < control.polls_until_ready))
    *error = kInProgress;
  return 0;
}

int ncclCommAbort(Communicator* communicator) {
  if (communicator->aborted.exchange(true)) ++control.uses_after_abort;
  ++control.aborts;
  control.busy = false;
  return 0;
}

int ncclCommDestroy(Communicator*) {
  ++control.destroys;
  return 0;
}

int ncclCommFinalize(Communicator*) {
  ++control.destroys;
  return 0;
}

int ncclAllReduce(const void*, void*, std::size_t, int, int, Communicator* communicator, void*) {
  if (communicator->aborted) ++control.uses_after_abort;
  if (control.reduce_hangs) control.busy = true;
  while (control.call_hangs && !communicator->aborted)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return communicator->aborted ? 3 : 0;
}

const char* ncclGetErrorString(int error) {
  return error == 1 ? "unhandled cuda error" : error == 6 ? "remote process exited" : "other error";
}

}  // extern "C"
