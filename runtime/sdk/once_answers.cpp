#include "runtime/sdk/once_answers.hpp"

namespace orrery::sdk::detail {
namespace {

std::uint64_t bytes_of_outcome(const Outcome& outcome) {
  if (const auto* values = std::get_if<std::shared_ptr<const WrittenValues>>(&outcome))
    return (*values)->fields.size() + bytes_in((*values)->buffers);
  if (const auto* error = std::get_if<ErrorFields>(&outcome)) return error->message.size();
  return 0;
}

}  // namespace

std::string OnceAnswers::key_of(const ServedCall& call) {
  if (call.message.once.empty() || call.message.stream) return {};
  // What a get answered went back to the channel with the connection that it was for.
  if (call.message.method == "orrery.channel.get") return {};
  // Of another caller the same name is another call.
  return call.caller + "\n" + call.message.once;
}

const Outcome* OnceAnswers::answer(const std::string& key) const {
  const auto at = kept_.find(key);
  return at != kept_.end() && at->second.outcome ? &*at->second.outcome : nullptr;
}

bool OnceAnswers::join(const std::string& key, const ServedCallPtr& call) {
  const auto at = kept_.find(key);
  if (at == kept_.end() || at->second.outcome) return false;
  at->second.waiting.push_back(call);
  return true;
}

void OnceAnswers::begin(const std::string& key) { kept_[key]; }

std::vector<ServedCallPtr> OnceAnswers::finish(const std::string& key, const Outcome& outcome) {
  const auto at = kept_.find(key);
  if (at == kept_.end()) return {};
  Kept& kept = at->second;
  std::vector<ServedCallPtr> waiting = std::exchange(kept.waiting, {});
  kept.outcome = outcome;
  kept.bytes = bytes_of_outcome(outcome);
  bytes_ += kept.bytes;
  order_.push_back(key);
  while (order_.size() > kOnceAnswersMax || (bytes_ > kOnceBytesMax && !order_.empty())) {
    const auto oldest = kept_.find(order_.front());
    bytes_ -= oldest->second.bytes;
    kept_.erase(oldest);
    order_.pop_front();
  }
  return waiting;
}

std::vector<ServedCallPtr> OnceAnswers::forget(const std::string& key) {
  const auto at = kept_.find(key);
  if (at == kept_.end() || at->second.outcome) return {};
  std::vector<ServedCallPtr> waiting = std::move(at->second.waiting);
  kept_.erase(at);
  return waiting;
}

}  // namespace orrery::sdk::detail
