#include "runtime/agent/worker_record.hpp"

#include <array>
#include <charconv>

namespace orrery::runtime {

WorkerRecord record_of(const SpawnWorker& order) {
  WorkerRecord out;
  out.job = order.worker.job;
  out.incarnation = order.worker.incarnation;
  out.birth_rank = order.worker.birth_rank;
  out.born = order.born;
  out.role = order.slot.role;
  out.local_rank = order.slot.local_rank;
  out.generation = order.generation;
  out.rank = order.rank;
  out.world_size = order.world_size;
  out.devices = order.devices;
  out.share = order.share;
  out.hardware = order.hardware;
  out.first_port = order.first_port;
  out.beside = order.beside;
  out.environment = order.generation;
  return out;
}

AgentWorker worker_of(const WorkerRecord& record, AgentWorkerState state) {
  AgentWorker out;
  out.name = record.name();
  out.slot = {record.role, record.local_rank};
  out.born = record.born;
  out.generation = record.generation;
  out.rank = record.rank;
  out.world_size = record.world_size;
  out.devices = record.devices;
  out.share = record.share;
  out.hardware = record.hardware;
  out.first_port = record.first_port;
  out.beside = record.beside;
  if (!record.said_hello) out.environment = record.environment;
  out.state = state;
  return out;
}

EndedWorker ended_of(const WorkerRecord& record, const WorkerStatus& status) {
  const WorkerFact fact = fact_of(status);
  EndedWorker out{record.name(),
                  {record.role, record.local_rank},
                  record.born,
                  record.generation,
                  record.rank,
                  fact,
                  fact == WorkerFact::Lost ? 0 : status.exit_code,
                  fact == WorkerFact::LaunchFailed ? status.reason : std::string()};
  if (fact == WorkerFact::Exited && status.exit_code != 0) out.diagnosis = record.diagnosis;
  return out;
}

WorkerFact fact_of(const WorkerStatus& status) {
  switch (status.kind) {
    case EndKind::Exited:
      return WorkerFact::Exited;
    case EndKind::NotStarted:
      return WorkerFact::LaunchFailed;
    case EndKind::Fenced:
    case EndKind::Lost:
      break;
  }
  return WorkerFact::Lost;
}

std::string folder_name_of(const WorkerName& worker) {
  return std::to_string(worker.job.value) + "-" + std::to_string(worker.incarnation.value) + "-" +
         std::to_string(worker.birth_rank.value);
}

std::optional<WorkerName> worker_named(std::string_view folder_name) {
  std::array<std::uint32_t, 3> numbers{};
  const char* at = folder_name.data();
  const char* const end = at + folder_name.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '-')) return std::nullopt;
    const auto [after, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc{}) return std::nullopt;
    at = after;
  }
  const WorkerName name{JobId{numbers[0]}, Incarnation{numbers[1]}, Rank{numbers[2]}};
  if (at != end || folder_name_of(name) != folder_name) return std::nullopt;
  return name;
}

}  // namespace orrery::runtime
