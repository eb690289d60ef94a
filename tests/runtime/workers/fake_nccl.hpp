// What a test tells and asks the fake NCCL library, through fake_nccl_control().
#pragma once

#include <atomic>

namespace orrery::worker {

/// Shared by the library and the test. Everything may be read and written at any time.
struct FakeNccl {
  std::atomic<int> polls_until_ready{3};  ///< A communicator is in progress so often.
  std::atomic<bool> init_hangs{false};    ///< In progress for ever.
  std::atomic<bool> reduce_hangs{false};  ///< The stream stays busy until an abort.
  std::atomic<bool> call_hangs{false};    ///< all_reduce itself does not return until an abort.
  std::atomic<int> error_at_init{0};      ///< Returned by init.
  std::atomic<int> async_error{0};        ///< Told from now on.

  std::atomic<bool> busy{false};  ///< The stream's state.
  std::atomic<int> inits{0};
  std::atomic<int> aborts{0};
  std::atomic<int> destroys{0};  ///< Destroy or Finalize: never to be called.
  std::atomic<int> uses_after_abort{0};
  std::atomic<int> blocking_configs{0};
};

using FakeNcclControl = FakeNccl* (*)();

}  // namespace orrery::worker
