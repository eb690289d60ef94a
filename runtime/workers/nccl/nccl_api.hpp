// The few calls of NCCL that a worker uses, from a library opened at run time: one program serves
// machines with and without it, and building needs no NCCL.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::worker {

/// NCCL's binary interface, as it has been since 2.14; a test compares it with nccl.h where there
/// is one.
namespace nccl {

using Communicator = struct NcclCommunicator*;

/// ncclUniqueId.
struct UniqueId {
  std::array<char, 128> bytes;
};

/// The beginning of ncclConfig_t. Newer libraries take the rest from their defaults, going by
/// `size` and `version`.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};

inline constexpr int kSuccess = 0;
inline constexpr int kInProgress = 7;
/// The library's reason for giving up that lies in this process: a CUDA error is sticky.
inline constexpr int kUnhandledCudaError = 1;
inline constexpr int kFloat = 7;
inline constexpr int kSum = 0;

/// Oldest version with communicators that do not block.
inline constexpr int kVersionMin = 21400;

struct Api {
  int (*get_version)(int* version);
  int (*get_unique_id)(UniqueId* out);
  int (*init_rank)(Communicator* out, int ranks, UniqueId id, int rank, Config* config);
  int (*get_async_error)(Communicator communicator, int* error);
  int (*abort)(Communicator communicator);
  int (*all_reduce)(const void* from,
                    void* to,
                    std::size_t count,
                    int type,
                    int operation,
                    Communicator communicator,
                    void* stream);
  const char* (*get_error_string)(int error);
  const char* (*get_last_error)(Communicator communicator);  ///< May be null: older libraries.
};

}  // namespace nccl

/// An open library; stays open as long as the process lives.
struct NcclLibrary {
  nccl::Api api;
  std::string file;
  int version = 0;  ///< 22809: 2.28.9.
};

/// Where libnccl.so.2 is looked for after `file`, if that is not empty: what the dynamic linker
/// finds, the usual folders, then those in which wheels of Python lie.
std::vector<std::string> nccl_places(const std::string& file);

/// Opens the first that can be. Error: none can, or it is too old; names each place that was tried.
Result<NcclLibrary> open_nccl(const std::string& file);

}  // namespace orrery::worker
