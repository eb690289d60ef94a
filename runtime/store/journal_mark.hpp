// How far a journal was acknowledged, in a file of its own: what tells that its end has gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/result.hpp"

namespace orrery::runtime {

/// The last record that was acknowledged, as far as the mark says: it may lag, and never leads.
struct Acknowledged {
  Sequence last;
  Digest chain;
};

/// A small file beside a journal. It is written after each commit, and not synced: after the end of
/// the process it is up to date; after a loss of power it may be seconds old.
class JournalMark {
 public:
  JournalMark() = default;

  JournalMark(JournalMark&& from) noexcept
      : path_(std::move(from.path_)), descriptor_(std::exchange(from.descriptor_, -1)) {}

  JournalMark& operator=(JournalMark&& from) noexcept {
    std::swap(path_, from.path_);
    std::swap(descriptor_, from.descriptor_);
    return *this;
  }

  JournalMark(const JournalMark&) = delete;
  JournalMark& operator=(const JournalMark&) = delete;
  ~JournalMark();

  /// Where the mark of a journal lies.
  static std::string path_of(const std::string& journal) { return journal + ".mark"; }

  /// None where there is none, or where a loss of power left it empty. Errors: it is damaged.
  static Result<std::optional<Acknowledged>> read(const std::string& journal);

  /// Makes the file, readable by its owner alone, or takes the one that is there.
  static Result<JournalMark> open(const std::string& journal);

  /// Nothing is done where the mark is not open. What fails leaves the mark as it is, which is
  /// never wrong.
  void write(const Acknowledged& acknowledged) const;

  /// The journal was closed and is one file again: nothing needs to be remembered.
  void remove();

 private:
  JournalMark(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace orrery::runtime
