#include "sim/pollux/profiles.hpp"

#include <algorithm>
#include <compare>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/number_text.hpp"
#include "sim/pollux/delaunay.hpp"
#include "sim/pollux/table.hpp"

namespace orrery::sim {

namespace {

namespace fs = std::filesystem;

/// What the artifact sets by hand; 0 takes the value from the files.
struct ManualLimits {
  std::string_view application;
  int epochs_max;
  int atomic_max;
  int replicas_max;
  int tuned_batch;
};

constexpr ManualLimits kManualLimits[] = {
    {"bert", 2, 0, 0, 0},
    {"cifar10", 100, 0, 0, 0},
    {"imagenet", 90, 0, 0, 0},
    {"ncf", 10, 0, 1, 32768},  // Too short to be worth more than one GPU, or any tuning.
    {"deepspeech2", 80, 0, 0, 0},
    {"yolov3", 50, 8, 0, 0},  // More does not fit into a T4 while training.
};

ManualLimits manual_limits(std::string_view application) {
  for (const ManualLimits& limits : kManualLimits) {
    if (limits.application == application) return limits;
  }
  return {application, 0, 0, 0, 0};
}

/// (nodes, replicas, batch): one point of the surface.
struct Shape {
  int nodes = 0;
  int replicas = 0;
  int batch = 0;

  friend auto operator<=>(const Shape&, const Shape&) = default;
};

/// A mean whose rounding does not grow with the number of values (Kahan's summation).
class Mean {
 public:
  void add(double value) {
    const double corrected = value - lost_;
    const double sum = sum_ + corrected;
    lost_ = (sum - sum_) - corrected;
    sum_ = sum;
    ++count_;
  }

  double value() const { return sum_ / count_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
  int count_ = 0;
};

struct MeanTime {
  Mean step_s;
  Mean sync_s;
};

/// Everything the two step time files say, and the points of the surface in the artifact's order:
/// means over placements by ascending shape, then the scalability rows as they are.
struct StepTimes {
  std::map<std::vector<int>, std::vector<StepCurve::Point>> placements;
  std::vector<SimplexMesh::Point> points;
  std::vector<StepTime> values;
  int batch_min = 0;
  int batch_max = 0;
};

SimplexMesh::Point point_of(const Shape& shape) {
  return {static_cast<double>(shape.nodes),
          static_cast<double>(shape.replicas),
          static_cast<double>(shape.batch)};
}

/// One decimal digit per node, 1 to 9 GPUs each; empty for anything else.
std::vector<int> parse_placement(std::string_view text) {
  std::vector<int> gpus_per_node;
  for (const char digit : text) {
    if (digit < '1' || digit > '9') return {};
    gpus_per_node.push_back(digit - '0');
  }
  return gpus_per_node;
}

// A step takes time: the shortest one that a clock tells from none.
constexpr double kStepLeast_s = 1e-9;

StepTime read_step_time(RowReader& reader, std::size_t step_column, std::size_t sync_column) {
  return {reader.number(step_column, kStepLeast_s), reader.number(sync_column, 0)};
}

void read_placements(const fs::path& file, StepTimes& times, Errors& errors) {
  static const std::vector<std::string_view> columns = {
      "placement", "local_bsz", "step_time", "sync_time"};
  Table table;
  const Errors broken = read_table(file, columns, table);
  errors.insert(errors.end(), broken.begin(), broken.end());
  std::map<Shape, MeanTime> means;
  for (const Table::Row& row : table.rows) {
    RowReader reader(table, row, columns, errors);
    const std::vector<int> placement = parse_placement(reader.text(0));
    if (placement.empty() || placement != smallest_rotation(placement)) {
      reader.reject(0, "one digit per node from 1 to 9, as the smallest rotation");
      continue;
    }
    const int batch = reader.whole(1, 1);
    const StepTime time = read_step_time(reader, 2, 3);
    auto& curve = times.placements[placement];
    const bool repeated = std::any_of(
        curve.begin(), curve.end(), [&](const auto& point) { return point.batch == batch; });
    if (repeated) reader.reject(1, "a batch that this placement has not yet");
    curve.push_back({static_cast<double>(batch), time});
    int replicas = 0;
    for (const int gpus : placement) replicas += gpus;
    MeanTime& mean = means[{static_cast<int>(placement.size()), replicas, batch}];
    mean.step_s.add(time.step_s);
    mean.sync_s.add(time.sync_s);
    times.batch_min = times.batch_min == 0 ? batch : std::min(times.batch_min, batch);
    times.batch_max = std::max(times.batch_max, batch);
  }
  for (const auto& [placement, curve] : times.placements) {
    if (curve.size() >= 2) continue;
    errors.push_back(Error{.file = table.file,
                           .message = "holds a placement with one batch only, needed two to "
                                      "interpolate; measure another batch"});
  }
  for (const auto& [shape, mean] : means) {
    times.points.push_back(point_of(shape));
    times.values.push_back({mean.step_s.value(), mean.sync_s.value()});
  }
}

void read_scalability(const fs::path& file, StepTimes& times, Errors& errors) {
  static const std::vector<std::string_view> columns = {
      "num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"};
  Table table;
  const Errors broken = read_table(file, columns, table);
  errors.insert(errors.end(), broken.begin(), broken.end());
  for (const Table::Row& row : table.rows) {
    RowReader reader(table, row, columns, errors);
    const Shape shape{reader.whole(0, 1), reader.whole(1, 1), reader.whole(2, 1)};
    times.points.push_back(point_of(shape));
    times.values.push_back(read_step_time(reader, 3, 4));
  }
}

TrainingRun read_run(const fs::path& file, int total_batch, Errors& errors) {
  static const std::vector<std::string_view> columns = {
      "progress", "iteration", "metric", "grad_sqr", "grad_var"};
  Table table;
  const Errors broken = read_table(file, columns, table);
  errors.insert(errors.end(), broken.begin(), broken.end());
  TrainingRun run{total_batch, {}};
  double earlier = 0;
  for (const Table::Row& row : table.rows) {
    RowReader reader(table, row, columns, errors);
    TrainingEpoch epoch;
    epoch.progress = reader.number(0, 0);
    epoch.iterations = reader.number(1, 0);
    epoch.stats = {reader.number(3, 0), reader.number(4, 0)};
    if (epoch.progress <= earlier) reader.reject(0, "more progress than the epoch before");
    earlier = epoch.progress;
    run.epochs.push_back(epoch);
  }
  if (run.epochs.empty() && broken.empty()) {
    errors.push_back(
        Error{.file = table.file, .message = "holds no epoch, needed one at least; add a line"});
  }
  return run;
}

/// B of a file name `validation-B.csv`.
std::optional<int> batch_of(const std::string& name) {
  constexpr std::string_view prefix = "validation-";
  constexpr std::string_view suffix = ".csv";
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) ||
      !name.ends_with(suffix)) {
    return std::nullopt;
  }
  const std::string_view digits(name.data() + prefix.size(),
                                name.size() - prefix.size() - suffix.size());
  const std::optional<int> batch = parsed_number<int>(digits);
  return batch && *batch >= 1 ? batch : std::nullopt;
}

/// By ascending batch.
std::vector<TrainingRun> read_runs(const fs::path& folder, Errors& errors) {
  std::map<int, fs::path> files;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const auto batch = batch_of(entry.path().filename().string());
    if (batch) files.emplace(*batch, entry.path());
  }
  std::vector<TrainingRun> runs;
  for (const auto& [batch, file] : files) runs.push_back(read_run(file, batch, errors));
  if (runs.empty()) {
    errors.push_back(Error{.code = ErrorCode::NotFound,
                           .file = folder.string(),
                           .message = "holds no validation-B.csv, needed one per total batch B; "
                                      "check the folder"});
  }
  return runs;
}

int fewest_epochs(const std::vector<TrainingRun>& runs) {
  std::size_t fewest = runs.front().epochs.size();
  for (const TrainingRun& run : runs) fewest = std::min(fewest, run.epochs.size());
  return static_cast<int>(fewest);
}

/// Limits from the files and by hand; an error where both disagree.
void set_limits(const StepTimes& times,
                ProfiledOn device,
                PolluxTables& tables,
                const fs::path& folder,
                Errors& errors) {
  const ManualLimits manual = manual_limits(tables.name);
  const bool batch_by_hand = manual.atomic_max > 0 && device == ProfiledOn::ArtifactT4;
  tables.limits = {tables.runs.front().total_batch,
                   tables.runs.back().total_batch,
                   times.batch_min,
                   batch_by_hand ? manual.atomic_max : times.batch_max};
  const int epochs = fewest_epochs(tables.runs);
  tables.epochs_max = manual.epochs_max > 0 ? manual.epochs_max : epochs;
  tables.replicas_max = manual.replicas_max;
  tables.tuned_batch = std::min(manual.tuned_batch, tables.limits.total_max);
  for (const SimplexMesh::Point& point : times.points)
    tables.nodes_profiled_max = std::max(tables.nodes_profiled_max, static_cast<int>(point[0]));
  if (epochs < tables.epochs_max) {
    errors.push_back(Error{.file = folder.string(),
                           .subject = tables.name,
                           .message = "found a training run of " + std::to_string(epochs) +
                                      " epochs, needed " + std::to_string(tables.epochs_max) +
                                      " in each; complete the validation files"});
  }
  if (tables.limits.total_max < tables.limits.atomic_min) {
    errors.push_back(Error{.file = folder.string(),
                           .subject = tables.name,
                           .message = "found no total batch as large as the smallest batch per "
                                      "replica; add a larger validation run"});
  }
}

}  // namespace

Result<PolluxApplication> read_pollux_application(const fs::path& folder, ProfiledOn device) {
  Errors errors;
  StepTimes times;
  PolluxTables tables;
  tables.name = folder.filename().string();
  read_placements(folder / "placements.csv", times, errors);
  read_scalability(folder / "scalability.csv", times, errors);
  tables.runs = read_runs(folder, errors);
  if (errors.empty()) set_limits(times, device, tables, folder, errors);
  if (!errors.empty()) return by_line(std::move(errors));
  Result<SimplexMesh> mesh = delaunay(std::move(times.points));
  if (!mesh) {
    Error error = mesh.errors().front();
    error.file = folder.string();
    return error;
  }
  tables.surface = StepSurface(std::move(*mesh), std::move(times.values));
  for (auto& [placement, curve] : times.placements) {
    tables.placements.emplace(placement, StepCurve(std::move(curve)));
  }
  return PolluxApplication(std::move(tables));
}

Result<PolluxProfiles> read_pollux_profiles(const fs::path& folder, ProfiledOn device) {
  std::vector<fs::path> folders;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    if (entry.is_directory(unreadable)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  PolluxProfiles profiles;
  Errors errors;
  for (const fs::path& path : folders) {
    Result<PolluxApplication> application = read_pollux_application(path, device);
    if (application) {
      profiles.emplace(path.filename().string(), std::move(*application));
    } else {
      errors.insert(errors.end(), application.errors().begin(), application.errors().end());
    }
  }
  if (!errors.empty()) return errors;
  if (profiles.empty()) {
    return Error{
        .code = ErrorCode::NotFound,
        .file = folder.string(),
        .message = "holds no application folder, needed one per application; check the path"};
  }
  return profiles;
}

}  // namespace orrery::sim
