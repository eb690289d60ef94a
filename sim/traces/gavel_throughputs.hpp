// Measured training speeds by job type, size and GPU model, as Gavel's artifact keeps them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/json_text.hpp"
#include "core/base/result.hpp"

namespace orrery::sim {

/// Speeds of jobs that run alone. Those of pairs that share GPUs are read over.
class GavelThroughputs {
 public:
  /// Steps a second of `job_type` ("ResNet-18 (batch size 16)") on `gpus` GPUs of `model` ("v100";
  /// "v100_unconsolidated": on several servers); nothing where unknown or where it does not fit.
  std::optional<double> steps_per_second(std::string_view model,
                                         std::string_view job_type,
                                         int gpus) const;

  bool has_model(std::string_view model) const { return models_.contains(model); }

  /// Number of entries of each model.
  std::map<std::string, std::size_t> sizes() const;

  /// Names of the models, joined by ", ".
  std::string model_names() const;

  void add_model(const std::string& model) { models_[model]; }

  /// `steps_per_second` is finite and at least 0; 0: does not fit.
  void add(const std::string& model, std::string job_type, int gpus, double steps_per_second) {
    models_[model][{std::move(job_type), gpus}] = steps_per_second;
  }

 private:
  using Job = std::pair<std::string, int>;

  std::map<std::string, std::map<Job, double>, std::less<>> models_;
};

/// Whether `text` is an object and has keys of such a table.
bool looks_like_gavel_throughputs(std::string_view text);

/// Reads `{"v100": {"('ResNet-18 (batch size 16)', 1)": {"null": 4.7, "(...)": [2.5, 3.1]}}}`:
/// model, job type and number of GPUs, then steps a second alone ("null") and in pairs.
Result<GavelThroughputs> parse_gavel_throughputs(std::string_view text, std::string_view file_name);

}  // namespace orrery::sim
