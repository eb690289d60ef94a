// What a page says of jobs beyond what became of them: their priority and roles.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/job/spec.hpp"

namespace orrery::sim {

/// Keeps a few numbers for each job, and each name of a role once.
class JobNotes {
 public:
  void add(JobId id, const JobSpec& spec);

  /// 0 for a job that was not added.
  std::int32_t priority(JobId id) const {
    return id.index() < notes_.size() ? notes_[id.index()].priority : 0;
  }

  /// Index into `role_names` of a role of a job; -1 where neither was added.
  std::int32_t role(JobId id, RoleIndex role) const;

  const std::vector<std::string>& role_names() const { return role_names_; }

 private:
  struct Note {
    std::int32_t priority = 0;
    std::uint32_t shape = 0;  // Index into `shapes_`: few combinations of roles serve all jobs.
    bool known = false;
  };

  std::vector<Note> notes_;
  std::vector<std::vector<std::int32_t>> shapes_;
  std::map<std::vector<std::int32_t>, std::uint32_t> shape_numbers_;
  std::vector<std::string> role_names_;
  std::map<std::string, std::int32_t, std::less<>> role_numbers_;
};

}  // namespace orrery::sim
