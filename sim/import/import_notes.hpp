// What an importer could not take over as it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::sim {

/// So many jobs differ from what their file says, and how.
struct ImportNote {
  std::string reason;      ///< A few words joined by "-", for counts.
  std::uint64_t jobs = 0;  ///< That it concerns; 0: it concerns the file.
  std::string sentence;    ///< For people.
};

/// Notes in the order in which they were first made.
class ImportNotes {
 public:
  /// Counts one job more under `reason`; `sentence` is kept from the first call.
  void job(const std::string& reason, const std::string& sentence) {
    entry(reason, sentence).jobs += 1;
  }

  /// Notes something about the file itself.
  void file(const std::string& reason, const std::string& sentence) { entry(reason, sentence); }

  const std::vector<ImportNote>& all() const { return notes_; }

 private:
  ImportNote& entry(const std::string& reason, const std::string& sentence) {
    for (ImportNote& note : notes_)
      if (note.reason == reason) return note;
    return notes_.emplace_back(ImportNote{reason, 0, sentence});
  }

  std::vector<ImportNote> notes_;
};

}  // namespace orrery::sim
