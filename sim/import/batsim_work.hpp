// What a profile of Batsim comes to on so many hosts.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "sim/import/batsim_jobs.hpp"

namespace orrery::sim {

/// The work of profile `profile` on `hosts` hosts; a text that says why there is none where it
/// cannot be run.
class BatsimWorkBuilder {
 public:
  BatsimWorkBuilder(const BatsimFile& file, const BatsimJobs::Options& options)
      : file_(file), options_(options) {}

  /// Empty: `work` is set. Otherwise what was found, what was needed; how to mend it.
  std::string build(const BatsimProfile& profile, std::int32_t hosts, BatsimWork& work) const;

 private:
  std::string append(const BatsimProfile& profile,
                     std::int32_t hosts,
                     std::size_t depth,
                     std::vector<scenarios::ProgramStage>& stages) const;
  std::string append_sequence(const BatsimSequence& sequence,
                              std::int64_t repeat,
                              std::int32_t hosts,
                              std::size_t depth,
                              std::vector<scenarios::ProgramStage>& stages) const;
  scenarios::ProgramStage staging(const BatsimStaging& profile) const;
  std::string give_speed(std::vector<scenarios::ProgramStage>& stages) const;

  const BatsimFile& file_;
  const BatsimJobs::Options& options_;
};

}  // namespace orrery::sim
