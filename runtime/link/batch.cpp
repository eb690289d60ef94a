#include "runtime/link/batch.hpp"

#include <utility>

#include "core/record/version.hpp"
#include "runtime/proto/agent_link.pb.h"

namespace orrery::runtime {
namespace {

/// A string, its place in the queue, its tag and length on the wire.
constexpr std::size_t kCostOfOne = 64;

/// Tag and length of one message in a batch, at most.
constexpr std::size_t kFraming = 6;

/// A batch with more than this is not worth keeping for the next one.
constexpr std::size_t kKeptBytes = 16 << 10;

template <class Message>
std::string unpack_any(const link::Batch& batch,
                       std::size_t message_bytes_max,
                       std::vector<Message>& messages) {
  if (batch.record_version() != kRecordVersion)
    return "messages of record version " + std::to_string(batch.record_version()) +
           ", needed version " + std::to_string(kRecordVersion) +
           "; run the same release on both sides";
  messages.reserve(messages.size() + static_cast<std::size_t>(batch.messages_size()));
  for (const std::string& bytes : batch.messages()) {
    if (bytes.size() > message_bytes_max)
      return "a message of " + std::to_string(bytes.size()) + " bytes, at most " +
             std::to_string(message_bytes_max) + " are allowed";
    if (!decode(bytes, messages.emplace_back()))
      return "a message of " + std::to_string(bytes.size()) +
             " bytes that does not decode; run the same release on both sides";
  }
  return {};
}

}  // namespace

bool Outbox::push(std::string message) {
  const std::size_t cost = message.size() + kCostOfOne;
  if (bytes_ + cost > bytes_max_) return false;
  bytes_ += cost;
  waiting_.push_back(std::move(message));
  return true;
}

void Outbox::fill(link::Batch& batch, std::size_t batch_bytes) {
  batch.set_record_version(kRecordVersion);
  std::size_t filled = 0;
  while (!empty()) {
    std::string& next = waiting_[first_];
    if (filled > 0 && filled + next.size() + kFraming > batch_bytes) return drop_the_left();
    filled += next.size() + kFraming;
    bytes_ -= next.size() + kCostOfOne;
    ++first_;
    batch.add_messages(std::move(next));
  }
  clear();
}

void Outbox::drop_the_left() {
  if (first_ < 1024 || first_ * 2 < waiting_.size()) return;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

void Outbox::clear() {
  if (waiting_.capacity() > 64)
    std::vector<std::string>().swap(waiting_);
  else
    waiting_.clear();
  first_ = 0;
  bytes_ = 0;
}

std::string unpack(const link::Batch& batch,
                   std::size_t message_bytes_max,
                   std::vector<AgentMessage>& messages) {
  return unpack_any(batch, message_bytes_max, messages);
}

std::string unpack(const link::Batch& batch,
                   std::size_t message_bytes_max,
                   std::vector<ControllerMessage>& messages) {
  return unpack_any(batch, message_bytes_max, messages);
}

void recycle(link::Batch& batch) {
  std::size_t kept = 0;
  for (const std::string& bytes : batch.messages()) kept += bytes.capacity();
  if (kept > kKeptBytes)
    link::Batch().Swap(&batch);
  else
    batch.Clear();
}

}  // namespace orrery::runtime
