// A part of an explored world: put back as it was, at the place where it was.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"

namespace orrery::sim {

/// A copy of a part that nothing changes any more, with the digest of what decides what it does.
template <class T>
struct Kept {
  T value;
  Digest digest;
};

/// One part, or none. It lives at one address for as long as it is there, and is put back there: so
/// machines that refer to each other are kept by plain copies, whose references all point at those
/// that live here. A kept copy is only ever copied.
///
/// T has `void save(ByteWriter&) const`, which says all that decides what it does. Of parts that
/// are equal in that one copy is kept, whichever came first: they go on alike. Except where each is
/// to be kept as it is, to see whether they do.
template <class T>
class Part {
 public:
  using KeptPart = std::shared_ptr<const Kept<T>>;

  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  /// From now on each copy is kept as it is.
  void keep_each() { keeps_each_ = true; }

  bool is_there() const { return live_.has_value(); }

  const T& get() const { return *live_; }

  /// To be changed.
  T& edit() {
    kept_.reset();
    return *live_;
  }

  template <class... Arguments>
  T& make(Arguments&&... arguments) {
    kept_.reset();
    return live_.emplace(std::forward<Arguments>(arguments)...);
  }

  void end() {
    kept_.reset();
    live_.reset();
  }

  /// As it is now; null where there is none.
  const KeptPart& keep() {
    if (kept_ != nullptr || !live_) return kept_;
    bytes_.clear();
    live_->save(bytes_);
    Digester digester;
    digester.update(bytes_.bytes());
    const Digest digest = digester.finish();
    std::weak_ptr<const Kept<T>>& known = known_[digest];
    if (!keeps_each_) kept_ = known.lock();
    if (kept_ != nullptr) return kept_;
    // Not in one piece with its count, which outlives it here.
    kept_ = KeptPart(new Kept<T>{*live_, digest});
    known = kept_;
    if (known_.size() >= forget_at_) forget();
    return kept_;
  }

  /// As it was then.
  void put_back(const KeptPart& kept) {
    if (kept == kept_ && (kept != nullptr) == live_.has_value()) return;
    live_.reset();
    if (kept != nullptr) live_.emplace(kept->value);
    kept_ = kept;
  }

 private:
  struct ByDigest {
    std::size_t operator()(const Digest& digest) const { return digest.low; }
  };

  void forget() {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    forget_at_ = known_.size() * 2 + 1024;
  }

  bool keeps_each_ = false;
  std::optional<T> live_;
  KeptPart kept_;  ///< Equal to what lives; null where that has changed since.
  std::unordered_map<Digest, std::weak_ptr<const Kept<T>>, ByDigest> known_;
  std::size_t forget_at_ = 1024;
  ByteWriter bytes_;
};

}  // namespace orrery::sim
