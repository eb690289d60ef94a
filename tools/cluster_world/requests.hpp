// What users of a scenario ask, as requests over HTTP, one after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/client/client.hpp"

namespace orrery::cli {

/// The answer to one.
struct RequestAnswer {
  std::uint64_t number = 0;  ///< Of the request, from 1 in the order of `ask`.
  bool reached = false;      ///< False: no controller answered in time.
  int status = 0;
  std::string body;
};

/// Sends on a thread of its own, for a controller that is away is waited for, at most as long as a
/// request may take.
class Requests {
 public:
  explicit Requests(ClientOptions options);
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests();

  /// Returns its number.
  std::uint64_t ask(HttpRequest request);

  std::vector<RequestAnswer> take_answers();

  /// How many have not been answered to the caller.
  std::size_t under_way() const;

 private:
  void send_all();
  void await_controller(std::unique_lock<std::mutex>& lock);

  const ClientOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::uint64_t, HttpRequest>> waiting_;
  std::vector<RequestAnswer> answers_;
  std::uint64_t last_ = 0;
  std::size_t under_way_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace orrery::cli
