#include "policies/pollux_models.hpp"

#include <algorithm>

#include "policies/pollux_reports.hpp"

namespace orrery::policies {

/// Whether the model is another one now.
bool PolluxModels::learn_from(const ClusterView& view, const JobView& job, Model& model) {
  const JobRow& row = job.row;
  model.replicas_most = std::max(model.replicas_most, row.replicas);
  const GoodputReport report =
      read_report(view.profilings(row.id), row, static_cast<int>(job.nodes.size()));
  bool learned = report.observed && model.speed.add(*report.observed);
  learned |= report.limits != model.limits;
  learned |= report.stats != model.stats;
  model.stats = report.stats;
  model.limits = report.limits;
  return learned;
}

bool PolluxModels::learn(const ClusterView& view, const std::set<JobId>& sized) {
  std::erase_if(models_, [&](const auto& entry) { return !view.is_live(entry.first); });
  bool learned = false;
  for (const JobId id : view.holding())
    if (view.row(id).phase == JobPhase::Running && sized.contains(id))
      learned |= learn_from(view, view.job(id), models_[id]);
  return learned;
}

std::int32_t PolluxModels::replicas_most(JobId job) const {
  const auto known = models_.find(job);
  if (known == models_.end()) return 1;
  const Model& model = known->second;
  const std::int32_t most =
      std::max(1, 2 * std::max(model.replicas_most, model.speed.replicas_most()));
  if (model.speed.empty()) return most;
  return std::min(most, model.limits.total_max / model.limits.atomic_min);
}

ModelSpeedups::ModelSpeedups(PolluxModels& models,
                             const std::vector<JobId>& rows,
                             const SearchProblem& problem,
                             const ClusterShare& share) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::int64_t each = problem.rows[row].devices_each;
    const std::int64_t parts = each * share.jobs;
    const std::int64_t fair = (share.devices + parts - 1) / parts;
    const auto known = models.models_.find(rows[row]);
    if (known == models.models_.end() || known->second.speed.empty()) {
      rows_.push_back({nullptr, static_cast<double>(fair)});
      continue;
    }
    PolluxModels::Model& model = known->second;
    GoodputTable& goodputs = model.speed.goodputs(model.limits, model.stats);
    const std::int64_t nodes = (share.nodes * each + share.devices - 1) / share.devices;
    const double base =
        goodputs.at({static_cast<int>(nodes), static_cast<int>(std::max(fair, nodes))});
    rows_.push_back({&goodputs, base});
  }
}

void PolluxModels::save(ByteWriter& out) const {
  out.varint(models_.size());
  for (const auto& [job, model] : models_) {
    out.u32(job.value);
    out.varint(static_cast<std::uint64_t>(model.replicas_most));
    model.speed.save(out);
    save_batches(model.limits, model.stats, out);
  }
}

void PolluxModels::load_model(ByteReader& in) {
  Model& model = models_[JobId{in.u32()}];
  model.replicas_most = static_cast<int>(in.varint());
  model.speed.load(in);
  load_batches(model.limits, model.stats, in);
}

void PolluxModels::load(ByteReader& in) {
  models_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) load_model(in);
}

}  // namespace orrery::policies
