// Messages that wait to leave on a stream, and the batches in which they travel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/link/messages.hpp"

namespace orrery::link {
class Batch;
}

namespace orrery::runtime {

/// Encoded messages that wait for the write under way to end, bounded by their bytes. Not
/// synchronised.
class Outbox {
 public:
  explicit Outbox(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// False: it would hold more than it may, and is as it was.
  bool push(std::string message);

  bool empty() const { return first_ == waiting_.size(); }

  /// Bytes that wait, with what managing them costs.
  std::size_t bytes() const { return bytes_; }

  /// Fills `batch` anew with the oldest messages: one at least, more while they have at most
  /// `batch_bytes` together.
  void fill(link::Batch& batch, std::size_t batch_bytes);

  void clear();

 private:
  void drop_the_left();

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::size_t first_ = 0;  ///< Those before have left.
  std::vector<std::string> waiting_;
};

/// Adds the messages of `batch`, which is not trusted, to `messages`. Otherwise says what
/// was found and what was needed; then `messages` is of no use. Empty: all is well.
std::string unpack(const link::Batch& batch,
                   std::size_t message_bytes_max,
                   std::vector<AgentMessage>& messages);
std::string unpack(const link::Batch& batch,
                   std::size_t message_bytes_max,
                   std::vector<ControllerMessage>& messages);

/// Empties `batch` for the next one, and does not keep much memory in it.
void recycle(link::Batch& batch);

}  // namespace orrery::runtime
