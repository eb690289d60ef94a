#include "sim/pollux/workload.hpp"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sim/pollux/table.hpp"

namespace orrery::sim {

namespace {

const std::vector<std::string_view> kColumns = {
    "name", "time", "application", "num_replicas", "batch_size", "category"};

enum Column : std::size_t { Name, Time, Application, NumReplicas, BatchSize, Category };

// As Sia's traces call it; a job that says nothing is adaptive.
std::optional<Adaptivity> adaptivity_of(std::string_view category) {
  if (category.empty() || category == "adaptive") return Adaptivity::Adaptive;
  if (category == "scale-gpus") return Adaptivity::ScaleOnly;
  if (category == "rigid") return Adaptivity::Rigid;
  return std::nullopt;
}

std::string known(const PolluxProfiles& profiles) {
  std::string names;
  for (const auto& [name, application] : profiles) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

Result<std::vector<PolluxSubmission>> read_pollux_workload(const std::filesystem::path& file,
                                                           const PolluxProfiles& profiles) {
  Table table;
  Errors errors = read_table(file, kColumns, table, 1);
  std::vector<PolluxSubmission> jobs;
  std::set<std::string_view> names;
  for (const Table::Row& row : table.rows) {
    RowReader reader(table, row, kColumns, errors);
    PolluxSubmission job;
    job.name = reader.text(Name);
    if (job.name.empty()) reader.reject(Name, "a name");
    if (!names.insert(reader.text(Name)).second) reader.reject(Name, "a name not used above");
    job.submitted_at = Instant::zero() + Duration::seconds(reader.whole(Time, 0));
    job.application = reader.text(Application);
    job.replicas = reader.whole(NumReplicas, 1);
    job.total_batch = reader.whole(BatchSize, 1);
    if (row.fields.size() > Category) {
      const std::optional<Adaptivity> adaptivity = adaptivity_of(reader.text(Category));
      if (adaptivity)
        job.adaptivity = *adaptivity;
      else
        reader.reject(Category, "adaptive, scale-gpus, rigid or nothing");
    }
    const auto application = profiles.find(job.application);
    if (application == profiles.end()) {
      reader.reject(Application, "one of the profiled applications (" + known(profiles) + ")");
    } else {
      const BatchLimits& limits = application->second.limits();
      if (job.total_batch < limits.initial_total || job.total_batch > limits.total_max) {
        reader.reject(BatchSize,
                      "a batch that `" + job.application + "` was trained at, " +
                          std::to_string(limits.initial_total) + " to " +
                          std::to_string(limits.total_max));
      }
    }
    jobs.push_back(std::move(job));
  }
  if (!errors.empty()) return by_line(std::move(errors));
  if (jobs.empty()) {
    return Error{.file = table.file, .message = "holds no job, needed one at least; add a line"};
  }
  return jobs;
}

}  // namespace orrery::sim
