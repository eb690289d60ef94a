#include "policies/ordered_jobs.hpp"

namespace orrery::policies {

void OrderedJobs::clear() {
  records_.clear();
  groups_.clear();
}

void OrderedJobs::put(const ClusterView& view, JobId id, std::int64_t key) {
  Record& record = records_[id.index()];
  const JobView job = view.job(id);
  const GangShape shape = shape_of(job);
  if (record.waits && record.place.key == key && record.group->first == shape) return;
  remove(id);
  record.waits = true;
  record.place = {job.row.priority, key, id};
  record.group = groups_.try_emplace(shape).first;
  record.group->second.insert(record.place);
}

void OrderedJobs::remove(JobId id) {
  Record* record = records_.find(id.index());
  if (record == nullptr || !record->waits) return;
  record->waits = false;
  record->group->second.erase(record->place);
  if (record->group->second.empty()) groups_.erase(record->group);
}

}  // namespace orrery::policies
