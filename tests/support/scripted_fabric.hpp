// A fabric by hand: every stage goes as if alone, times a factor that a test changes at instants.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/fabric/fabric.hpp"

namespace orrery::tests {

/// Each transfer has `bandwidth` bytes per second to itself.
class ScriptedFabric : public sim::Fabric {
 public:
  explicit ScriptedFabric(double bandwidth) : bandwidth_(bandwidth) {}

  /// From `at` on all stages go at `factor` of their speed. In rising order, before time passes.
  void script(Instant at, double factor) { script_.emplace_back(at, factor); }

  std::size_t under_way() const { return stages_.size(); }

  std::uint32_t begun() const { return next_id_; }

  double link_share(NodeId node) const {
    const auto found = shares_.find(node.value);
    return found == shares_.end() ? 1 : found->second;
  }

  /// The last stage that was begun.
  const sim::Stage& last() const { return last_; }

  double step_alone_s(const sim::Stage& stage) const override {
    double longest = 0;
    for (const sim::Exchange& exchange : stage.exchanges)
      for (const sim::Transfer& transfer : transfers_of(exchange))
        longest = std::max(longest, transfer.bytes / bandwidth_);
    return sim::step_seconds(stage.compute_s, stage.local_exchange_s + longest, stage.overlap);
  }

  sim::StageId begin(const sim::Stage& stage, Instant now) override {
    go_to(now);
    last_ = stage;
    stages_[next_id_] = {stage.steps, step_alone_s(stage), 0};
    return {next_id_++};
  }

  double steps_done(sim::StageId id, Instant now) override {
    go_to(now);
    return stages_.at(id.value).done;
  }

  double pace(sim::StageId id) override { return factor_ / stages_.at(id.value).step_s; }

  void end(sim::StageId id, Instant now) override {
    go_to(now);
    stages_.erase(id.value);
  }

  Instant next(Instant limit) override {
    Instant first = limit;
    for (const auto& [id, run] : stages_) first = std::min(first, end_of(run));
    if (taken_ < script_.size()) first = std::min(first, script_[taken_].first);
    return std::max(first, now_);
  }

  void pass_to(Instant now, std::vector<sim::StageId>& complete) override {
    std::vector<std::uint32_t> ended;
    for (const auto& [id, run] : stages_)
      if (end_of(run) <= now) ended.push_back(id);
    go_to(now);
    for (const std::uint32_t id : ended) {
      stages_.erase(id);
      complete.push_back({id});
    }
    while (taken_ < script_.size() && script_[taken_].first <= now)
      factor_ = script_[taken_++].second;
  }

  void set_link_share(NodeId node, double share, Instant) override { shares_[node.value] = share; }

  std::vector<std::string> link_names() const override { return {}; }

  void link_use(std::vector<double>& shares) const override { shares.clear(); }

 private:
  struct Run {
    double steps;
    double step_s;
    double done;
  };

  Instant end_of(const Run& run) const {
    if (factor_ <= 0) return Instant::never();
    return now_ + Duration::from_seconds((run.steps - run.done) * run.step_s / factor_);
  }

  void go_to(Instant now) {
    for (auto& [id, run] : stages_)
      if (run.step_s > 0)
        run.done = std::min(run.steps, run.done + (now - now_).in_seconds() * factor_ / run.step_s);
    now_ = now;
  }

  double bandwidth_;
  double factor_ = 1;
  Instant now_;
  std::vector<std::pair<Instant, double>> script_;
  std::size_t taken_ = 0;
  std::map<std::uint32_t, Run> stages_;
  std::map<std::uint32_t, double> shares_;
  std::uint32_t next_id_ = 0;
  sim::Stage last_;
};

}  // namespace orrery::tests
