#include "runtime/launch/slurm.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/number_text.hpp"
#include "core/job/spec.hpp"
#include "runtime/config/address.hpp"
#include "runtime/config/node_names.hpp"

namespace orrery::runtime {
namespace {

constexpr Duration kKillWait = Duration::seconds(30);
constexpr std::int64_t kMebi = std::int64_t{1} << 20;

std::optional<std::int64_t> whole_number(std::string_view text) {
  const std::optional<std::int64_t> value = parsed_number<std::int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

/// "4096" or "4096M" are mebibytes, "4G" gibibytes: Slurm counts in powers of 1024.
std::optional<Bytes> memory_of(std::string_view text) {
  std::int64_t unit = kMebi;
  if (!text.empty()) {
    const std::size_t which = std::string_view("KMGT").find(text.back());
    if (which != std::string_view::npos) {
      unit = std::int64_t{1024} << (10 * which);
      text.remove_suffix(1);
    }
  }
  const auto count = whole_number(text);
  if (!count || *count > INT64_MAX / unit) return std::nullopt;
  return Bytes{*count * unit};
}

/// Reads variables and collects what is wrong with them.
class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  /// The value; nothing where it is not set or empty.
  std::optional<std::string> text(std::string_view name) const {
    auto value = variables_(name);
    if (value && value->empty()) value.reset();
    return value;
  }

  /// Reads with `parse`, and reports what it refuses.
  template <class Parse>
  auto value(std::string_view name, Parse parse, const char* need)
      -> decltype(parse(std::string_view{})) {
    const auto found = text(name);
    if (!found) return std::nullopt;
    auto parsed = parse(*found);
    if (!parsed) refuse(name, "is '" + *found + "', " + need + " is needed; start it by srun");
    return parsed;
  }

  void refuse(std::string_view name, std::string message) {
    errors.push_back({ErrorCode::InvalidInput, {}, 0, std::string(name), std::move(message)});
  }

  Errors errors;

 private:
  const Variables& variables_;
};

std::string small_letters(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

void read_name(Reader& reader, AgentConfig& config) {
  const auto task = reader.text("SLURM_ARRAY_TASK_ID");
  const auto host = reader.text("SLURMD_NODENAME");
  std::string name;
  if (task)
    name = small_letters(reader.text("SLURM_JOB_NAME").value_or("orrery")) + "-" + *task;
  else if (host)
    name = node_name_of_host(*host);
  if (is_dns_label(name))
    config.node = name;
  else
    reader.refuse(task ? "SLURM_JOB_NAME" : "SLURMD_NODENAME",
                  "gives the node the name '" + name +
                      "', a DNS label (a-z, 0-9, '-') is needed; start it by srun, in a job with "
                      "such a name");
}

/// How many devices "0,2-3" names, or nothing.
std::optional<std::vector<std::string>> devices_of(std::string_view text) {
  auto numbers = expand_node_names("[" + std::string(text) + "]");
  if (numbers && numbers->size() > 64) numbers.reset();
  return numbers;
}

void read_devices(Reader& reader, SlurmNode& node) {
  const char* const name = reader.text("SLURM_STEP_GPUS") ? "SLURM_STEP_GPUS" : "SLURM_JOB_GPUS";
  const auto devices = reader.value(name, devices_of, "a list of at most 64 numbers");
  const auto count = reader.value("SLURM_GPUS_ON_NODE", whole_number, "a number of GPUs");
  if (devices)
    node.granted = static_cast<std::int32_t>(devices->size());
  else if (count)
    node.granted = static_cast<std::int32_t>(std::min<std::int64_t>(*count, 64));
  InventoryConfig& inventory = node.config.inventory;
  const bool pretends = inventory.devices.value_or(0) > 0;
  if (pretends && node.granted) inventory.devices = node.granted;
  // Without a share of the devices none is offered, whatever the node has.
  if (!pretends && !node.granted && !reader.text("CUDA_VISIBLE_DEVICES")) inventory.devices = 0;
}

void read_inventory(Reader& reader, SlurmNode& node) {
  InventoryConfig& inventory = node.config.inventory;
  const auto cpus = reader.value("SLURM_CPUS_ON_NODE", whole_number, "a number of CPUs");
  if (cpus && *cpus > 0 && *cpus < 1'000'000) inventory.cpu = MilliCpu{*cpus * 1000};
  const auto memory = reader.value("SLURM_MEM_PER_NODE", memory_of, "a size in MiB");
  const auto per_cpu = reader.value("SLURM_MEM_PER_CPU", memory_of, "a size in MiB");
  // Zero: all the memory that there is.
  if (memory && memory->count > 0)
    inventory.memory = *memory;
  else if (per_cpu && per_cpu->count > 0 && cpus && *cpus > 0 &&
           per_cpu->count <= INT64_MAX / *cpus)
    inventory.memory = Bytes{per_cpu->count * *cpus};
  read_devices(reader, node);
}

/// Workers elsewhere must find those here.
void read_address(const std::string& host, AgentConfig& config) {
  const auto local = [](const std::string& address) {
    const auto parsed = parse_address(address);
    return !parsed || is_local(*parsed);
  };
  if (std::all_of(config.controllers.begin(), config.controllers.end(), local)) return;
  const bool six = config.address.find(':') != std::string::npos;
  if (!host.empty() && local((six ? "[" + config.address + "]" : config.address) + ":1"))
    config.address = host;
}

}  // namespace

Result<SlurmNode> slurm_node(const AgentConfig& config,
                             const Variables& variables,
                             const std::string& host) {
  Reader reader(variables);
  SlurmNode node;
  node.config = config;
  node.ends = Instant::never();
  const auto job = reader.text("SLURM_JOB_ID");
  if (!job || !whole_number(*job)) {
    reader.refuse("SLURM_JOB_ID",
                  "is " + (job ? "'" + *job + "'" : "not set") +
                      ", so this is no allocation of Slurm; start it by srun, or without launcher");
    return reader.errors;
  }
  node.job = *job;
  read_name(reader, node.config);
  read_inventory(reader, node);
  read_address(host, node.config);
  const auto ends = reader.value("SLURM_JOB_END_TIME", whole_number, "a time in seconds");
  if (ends && *ends > 0 && *ends < INT64_MAX / 1'000'000'000)
    node.ends = Instant{*ends * 1'000'000'000};
  const auto notice = reader.value("ORRERY_SLURM_NOTICE", whole_number, "a number of seconds");
  node.notice = notice ? Duration::seconds(std::min<std::int64_t>(*notice, 86400)) : kKillWait;
  if (!reader.errors.empty()) return reader.errors;
  std::string& state = node.config.state;
  state = state == AgentConfig{}.state ? reader.text("TMPDIR").value_or("/tmp") + "/orrery-" +
                                             node.job + "-" + node.config.node
                                       : state + "/" + node.config.node;
  node.config.kill_workers_at_exit = true;
  return node;
}

Status check_granted(const SlurmNode& node, std::size_t found) {
  if (!node.granted || found <= static_cast<std::size_t>(*node.granted)) return Done{};
  return Error{ErrorCode::InvalidInput,
               {},
               0,
               "devices",
               "are " + std::to_string(found) + ", but Slurm has granted " +
                   std::to_string(*node.granted) +
                   ", and does not keep the job from the others; set ConstrainDevices=yes in its "
                   "cgroup.conf, or ask for all of a node with --exclusive and --gpus-per-node"};
}

Duration slurm_remaining(const SlurmNode& node, SlurmSignal signal, Instant now) {
  if (signal == SlurmSignal::End) return kKillWait;
  if (node.ends.is_never()) return node.notice;
  return std::max(node.ends - now, Duration::zero());
}

Variables own_variables() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = ::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

}  // namespace orrery::runtime
