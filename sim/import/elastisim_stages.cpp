#include "sim/import/elastisim_stages.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/import/json_tree.hpp"

namespace orrery::sim {
namespace {

using scenarios::ProgramStage;
using scenarios::RankPattern;
using scenarios::RankTransfer;

constexpr double kTimesMax = 1e9;

/// Shares of `amount` by rank.
std::vector<double> share_out(double amount, ElastisimVector pattern, std::int32_t nodes) {
  std::vector<double> shares(static_cast<std::size_t>(nodes));
  const auto to_every_second = [&](std::size_t first) {
    const std::size_t takers = (shares.size() + 1 - first) / 2;
    for (std::size_t rank = first; rank < shares.size(); rank += 2)
      shares[rank] = amount / static_cast<double>(takers);
  };
  switch (pattern) {
    case ElastisimVector::AllRanks:
    case ElastisimVector::Total:
      std::fill(shares.begin(), shares.end(), amount / nodes);
      break;
    case ElastisimVector::RootOnly:
      shares[0] = amount;
      break;
    case ElastisimVector::EvenRanks:
      to_every_second(0);
      break;
    case ElastisimVector::OddRanks:
      to_every_second(1);
      break;
    case ElastisimVector::Uniform:
    case ElastisimVector::Vector:
      std::fill(shares.begin(), shares.end(), amount);
      break;
  }
  return shares;
}

}  // namespace

ElastisimStages::ElastisimStages(const FormulaValues& arguments,
                                 std::int32_t nodes,
                                 std::int32_t gpus,
                                 const ElastisimNode& node)
    : values_(arguments), nodes_(std::max(1, nodes)), gpus_(gpus), node_(node) {
  values_["num_nodes"] = nodes_;
  values_["num_gpus_per_node"] = gpus_;
  values_["num_gpus"] = static_cast<double>(nodes_) * gpus_;
}

void ElastisimStages::fail(std::string wrong) {
  if (!wrong_.empty()) return;
  const std::string name = task_ == nullptr      ? ""
                           : task_->name.empty() ? std::string(orrery::to_string(task_->kind))
                                                 : task_->name;
  wrong_ = (task_ == nullptr ? "" : "task '" + excerpt(name) + "' ") + std::move(wrong);
}

double ElastisimStages::value(const ElastisimAmount& amount) {
  if (const auto* number = std::get_if<double>(&amount)) return *number;
  const auto* formula = std::get_if<std::string>(&amount);
  if (formula == nullptr || !wrong_.empty()) return 0;
  const Result<double> result = evaluate_formula(*formula, values_);
  if (!result) {
    const Error& error = result.errors().front();
    fail("on " + std::to_string(nodes_) + " nodes: " + error.subject + " " + error.message);
    return 0;
  }
  if (*result >= 0) return *result;
  fail("on " + std::to_string(nodes_) + " nodes: formula '" + excerpt(*formula) +
       "' is below 0, at least 0 is needed; correct it");
  return 0;
}

std::int64_t ElastisimStages::times(const ElastisimAmount& amount) {
  if (std::holds_alternative<std::monostate>(amount)) return 1;
  const double times = std::floor(value(amount));
  if (times <= kTimesMax) return static_cast<std::int64_t>(times);
  fail("has more than a billion iterations, fewer are needed; lower them");
  return 0;
}

std::int64_t ElastisimStages::iterations(const ElastisimPhase& phase) {
  task_ = nullptr;
  return times(phase.iterations);
}

std::vector<double> ElastisimStages::shared_out(const ElastisimTask& task) {
  if (const auto* listed = std::get_if<std::vector<double>>(&task.amount)) {
    if (listed->size() == static_cast<std::size_t>(nodes_)) return *listed;
    fail("lists amounts of " + std::to_string(listed->size()) + " ranks, but the job has " +
         std::to_string(nodes_) + " nodes; list as many");
    return std::vector<double>(static_cast<std::size_t>(nodes_));
  }
  return share_out(value(task.amount), task.pattern, nodes_);
}

double ElastisimStages::largest_share(const ElastisimTask& task) {
  const std::vector<double> shares = shared_out(task);
  return *std::max_element(shares.begin(), shares.end());
}

void ElastisimStages::push(ProgramStage stage, Stages& stages) {
  if (!pending_.empty()) {
    stage.transfers.insert(stage.transfers.end(), pending_.begin(), pending_.end());
    if (stage.pattern == RankPattern::None) stage.pattern = RankPattern::Transfers;
    pending_.clear();
  }
  if (stages.size() >= kElastisimStagesMax)
    return fail("makes more than " + std::to_string(kElastisimStagesMax) +
                " stages of the job, fewer are needed; lower its iterations");
  transfers_ += stage.transfers.size();
  if (transfers_ > kElastisimTransfersMax)
    return fail("makes more than " + std::to_string(kElastisimTransfersMax) +
                " transfers of the job, fewer are needed; lower its iterations");
  stages.push_back(std::move(stage));
}

// --- compute and communication ---

void ElastisimStages::give_cpu(const ElastisimTask& task, ProgramStage& stage) {
  std::vector<double> shares = shared_out(task);
  const double most = *std::max_element(shares.begin(), shares.end());
  if (most <= 0) return;
  if (node_.host_flops > 0) {
    stage.seconds = most / node_.host_flops;
  } else if (node_.has_platform) {
    stage.flops = std::move(shares);
  } else {
    fail(
        "computes in floating point operations, and nothing says how many a node does in a "
        "second; add host_flops to the workload, or name a platform file");
  }
}

double ElastisimStages::gpu_seconds(const ElastisimTask& task) {
  const double most = largest_share(task);
  if (most <= 0) return 0;
  if (gpus_ == 0) {
    fail("computes on GPUs, but the job asks for none; give it num_gpus_per_node");
  } else if (node_.gpu_flops <= 0) {
    fail("computes on GPUs, and nothing says how fast they are; add gpu_flops to the workload");
  } else {
    return most / gpus_ / node_.gpu_flops;
  }
  return 0;
}

// Of the bytes that all GPUs send each other, those between nodes; `inside` is set to the bytes
// that stay on each node. The shares are ElastiSim's.
double ElastisimStages::between_nodes(const ElastisimTask& task,
                                      double bytes,
                                      double& inside) const {
  inside = 0;
  const double g = gpus_;
  const double n = nodes_;
  if (task.kind != ElastisimTaskKind::Gpu || gpus_ <= 1) return bytes;
  if (task.communication == ElastisimMatrix::AllToAll) {
    const double pair = bytes / (g * n * (g * n - 1));
    inside = g * (g - 1) * pair;
    return g * n * (g * n - g) * pair;
  }
  const double edge = bytes / (g * n);  // Of a ring, both ways where it has two.
  inside = edge * (nodes_ == 1 ? g : g - 1);
  return nodes_ == 1 ? 0 : edge * n;
}

void ElastisimStages::send_matrix(const std::vector<double>& bytes, ProgramStage& stage) {
  const auto n = static_cast<std::size_t>(nodes_);
  if (bytes.size() != n * n)
    return fail("lists " + std::to_string(bytes.size()) + " amounts of bytes, but " +
                std::to_string(nodes_) + " nodes have " + std::to_string(n * n) +
                " pairs; list as many");
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to)
      if (from != to && bytes[from * n + to] > 0)
        stage.transfers.push_back(
            {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), bytes[from * n + to]});
}

void ElastisimStages::send(const ElastisimTask& task, double bytes, ProgramStage& stage) {
  const std::int32_t n = nodes_;
  if (n == 1 || bytes <= 0) return;
  const auto to_next = [&](std::int32_t step, double part) {
    for (std::int32_t rank = 0; rank < n; ++rank)
      stage.transfers.push_back({rank, (rank + step + n) % n, part});
  };
  switch (task.communication) {
    case ElastisimMatrix::AllToAll:
      stage.pattern = RankPattern::AllToAll;
      stage.bytes = bytes / (static_cast<double>(n) * n - n);
      break;
    case ElastisimMatrix::Gather:
      for (std::int32_t rank = 1; rank < n; ++rank) stage.transfers.push_back({rank, 0, bytes / n});
      break;
    case ElastisimMatrix::Scatter:
      for (std::int32_t rank = 1; rank < n; ++rank) stage.transfers.push_back({0, rank, bytes / n});
      break;
    case ElastisimMatrix::MasterWorker:
      // Twice its share each way: so ElastiSim has it.
      for (std::int32_t rank = 1; rank < n; ++rank) {
        stage.transfers.push_back({0, rank, 2 * bytes / (n - 1)});
        stage.transfers.push_back({rank, 0, 2 * bytes / (n - 1)});
      }
      break;
    case ElastisimMatrix::Ring:
      to_next(-1, bytes / (2.0 * n));
      to_next(1, bytes / (2.0 * n));
      break;
    case ElastisimMatrix::RingClockwise:
      to_next(1, bytes / n);
      break;
    case ElastisimMatrix::RingCounterClockwise:
      to_next(-1, bytes / n);
      break;
    case ElastisimMatrix::Matrix:
      break;
  }
}

void ElastisimStages::append_compute(const ElastisimTask& task, Stages& stages) {
  ProgramStage stage;
  const bool on_gpu = task.kind == ElastisimTaskKind::Gpu;
  if (!std::holds_alternative<std::monostate>(task.amount)) {
    if (on_gpu)
      stage.seconds = gpu_seconds(task);
    else
      give_cpu(task, stage);
  }
  if (const auto* matrix = std::get_if<std::vector<double>>(&task.bytes)) {
    if (on_gpu) fail("lists bytes by rank, which GPU tasks cannot; use all_to_all or a ring");
    send_matrix(*matrix, stage);
  } else if (!std::holds_alternative<std::monostate>(task.bytes)) {
    const bool ring_or_all = task.communication == ElastisimMatrix::AllToAll ||
                             task.communication == ElastisimMatrix::Ring ||
                             task.communication == ElastisimMatrix::RingClockwise ||
                             task.communication == ElastisimMatrix::RingCounterClockwise;
    if (on_gpu && gpus_ > 1 && !ring_or_all)
      fail("communicates by " + std::string(orrery::to_string(task.communication)) +
           ", which tasks of several GPUs cannot; use all_to_all or a ring");
    double inside = 0;
    send(task, between_nodes(task, value(task.bytes), inside), stage);
    if (inside > 0)
      stage.seconds = std::max(stage.seconds, inside / gpus_ / node_.device_bandwidth);
  }
  if (stage.pattern == RankPattern::None && !stage.transfers.empty())
    stage.pattern = RankPattern::Transfers;
  push(std::move(stage), stages);
}

// --- storage, waits, sequences ---

void ElastisimStages::append_storage(const ElastisimTask& task, Stages& stages) {
  const std::vector<double> shares = shared_out(task);
  std::vector<RankTransfer> transfers;
  for (std::int32_t rank = 0; rank < nodes_; ++rank) {
    const double bytes = shares[static_cast<std::size_t>(rank)];
    if (bytes <= 0) continue;
    if (task.kind == ElastisimTaskKind::PfsRead)
      transfers.push_back({-1, rank, bytes});
    else
      transfers.push_back({rank, -1, bytes});
  }
  if (task.async) {
    pending_.insert(pending_.end(), transfers.begin(), transfers.end());
    return;
  }
  ProgramStage stage;
  stage.transfers = std::move(transfers);
  if (!stage.transfers.empty()) stage.pattern = RankPattern::Transfers;
  push(std::move(stage), stages);
}

void ElastisimStages::append_once(const ElastisimTask& task, Stages& stages) {
  task_ = &task;
  ProgramStage stage;
  switch (task.kind) {
    case ElastisimTaskKind::Cpu:
    case ElastisimTaskKind::Gpu:
      return append_compute(task, stages);
    case ElastisimTaskKind::PfsRead:
    case ElastisimTaskKind::PfsWrite:
      return append_storage(task, stages);
    case ElastisimTaskKind::BurstBufferRead:
    case ElastisimTaskKind::BurstBufferWrite:
      if (node_.burst_buffer > 0) stage.seconds = largest_share(task) / node_.burst_buffer;
      return push(std::move(stage), stages);
    case ElastisimTaskKind::BusyWait:
    case ElastisimTaskKind::Idle:
      stage.seconds = largest_share(task);
      return push(std::move(stage), stages);
    case ElastisimTaskKind::Sequence:
      for (const ElastisimTask& part : task.tasks) append_task(part, stages);
      return;
  }
}

void ElastisimStages::append_task(const ElastisimTask& task, Stages& stages) {
  if (!wrong_.empty()) return;
  task_ = &task;
  const std::int64_t turns = times(task.iterations);
  for (std::int64_t turn = 0; turn < turns && wrong_.empty(); ++turn) {
    const std::size_t stages_before = stages.size();
    const std::size_t pending_before = pending_.size();
    append_once(task, stages);
    // Turns that add nothing would go on for long, and come to nothing.
    if (stages.size() == stages_before && pending_.size() == pending_before) return;
    if (pending_.size() > 4 * kElastisimStagesMax)
      return fail("reads or writes too often without waiting; let it wait now and then");
  }
}

void ElastisimStages::append(const ElastisimPhase& phase, Stages& stages) {
  for (const ElastisimTask& task : phase.tasks) append_task(task, stages);
  if (!pending_.empty()) push({}, stages);
}

}  // namespace orrery::sim
