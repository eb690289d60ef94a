// A connection to a controller: bytes both ways, in clear or under TLS, with deadlines.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/client/server_address.hpp"

namespace orrery::cli {

using Deadline = std::chrono::steady_clock::time_point;

/// Files in PEM form; any may be empty. `certificate` and `key` go together.
struct TlsIdentity {
  std::string ca;  ///< Empty: the system's authorities.
  std::string certificate;
  std::string key;
};

/// Every call ends at its deadline, and at an interrupt (interrupt.hpp), with an Unavailable error.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual Status write(std::string_view bytes, Deadline deadline) = 0;

  /// At least one byte, at most `size`; 0 at the orderly end.
  virtual Result<std::size_t> read(char* bytes, std::size_t size, Deadline deadline) = 0;
};

/// Errors: Unavailable where no controller answers; InvalidInput where a file of `tls` is unfit.
Result<std::unique_ptr<Stream>> open_stream(const ServerAddress& server,
                                            const TlsIdentity& tls,
                                            Deadline deadline);

}  // namespace orrery::cli
