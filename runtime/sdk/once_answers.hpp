// Answers of calls that had a name of their own, so that a repeated one runs once. I/O thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sdk/served_call.hpp"

namespace orrery::sdk::detail {

inline constexpr std::size_t kOnceAnswersMax = 1024;
inline constexpr std::uint64_t kOnceBytesMax = 64U << 20U;

class OnceAnswers {
 public:
  /// The key of a call; empty where it has none. Streams have none: their items are not kept.
  static std::string key_of(const ServedCall& call);

  /// The answer that is kept for this key; null where there is none.
  const Outcome* answer(const std::string& key) const;

  /// Whether a call of this key is under way; then `call` waits for its answer.
  bool join(const std::string& key, const ServedCallPtr& call);

  void begin(const std::string& key);

  /// Keeps the answer; returns those that waited for it.
  std::vector<ServedCallPtr> finish(const std::string& key, const Outcome& outcome);

  /// It never ran, so nothing is kept; returns those that waited for it.
  std::vector<ServedCallPtr> forget(const std::string& key);

 private:
  struct Kept {
    std::optional<Outcome> outcome;  ///< Nothing while it is under way.
    std::uint64_t bytes = 0;
    std::vector<ServedCallPtr> waiting;
  };

  std::map<std::string, Kept> kept_;
  std::deque<std::string> order_;  ///< Keys with an outcome, oldest first.
  std::uint64_t bytes_ = 0;
};

}  // namespace orrery::sdk::detail
