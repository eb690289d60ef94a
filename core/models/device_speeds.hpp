// Measured speeds of jobs on each model of device.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace orrery {

/// Steps a second by device model, kind of job and number of devices, as Gavel's tables have them
/// (D. Narayanan et al., *Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
/// Workloads*, OSDI 2020). Worlds take them for the truth, policies for an estimate.
class DeviceSpeeds {
 public:
  /// Steps a second of `kind` ("ResNet-18 (batch size 16)") on `devices` devices of `model`
  /// ("v100"; "v100_unconsolidated": on several nodes); nothing where unknown or where it does not
  /// fit.
  std::optional<double> steps_per_second(std::string_view model,
                                         std::string_view kind,
                                         int devices) const;

  /// Steps a second of one job of each kind, both on the same `devices` devices: 0 where the two do
  /// not fit together. Nothing where that is unknown.
  std::optional<std::pair<double, double>> beside(std::string_view model,
                                                  std::string_view kind,
                                                  std::string_view other,
                                                  int devices) const;

  bool has_model(std::string_view model) const { return models_.contains(model); }

  /// Whether any model has an entry of this kind.
  bool has_kind(std::string_view kind) const;

  /// Number of entries of each model.
  std::map<std::string, std::size_t> sizes() const;

  /// Names of the models, joined by ", ".
  std::string model_names() const;

  void add_model(const std::string& model) { models_[model]; }

  /// `steps_per_second` is finite and at least 0; 0: does not fit.
  void add(const std::string& model, std::string kind, int devices, double steps_per_second) {
    models_[model].alone[{std::move(kind), devices}] = steps_per_second;
  }

  /// Both as in `add`; of one order of the two kinds, the other is known with it.
  void add_beside(const std::string& model,
                  const std::string& kind,
                  const std::string& other,
                  int devices,
                  double steps_per_second,
                  double others);

 private:
  /// Kind and number of devices.
  struct Job {
    std::string kind;
    int devices;
  };

  /// Looked up without a copy of the text.
  struct Before {
    using is_transparent = void;
    using Key = std::pair<std::string_view, int>;

    static Key key(const Job& job) { return {job.kind, job.devices}; }

    static Key key(const Key& key) { return key; }

    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return key(a) < key(b);
    }
  };

  /// Numbers of two kinds, the smaller one first, and how many devices they share.
  struct Pair {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    int devices = 0;

    friend auto operator<=>(const Pair&, const Pair&) = default;
  };

  struct Model {
    std::map<Job, double, Before> alone;
    std::map<Pair, std::pair<double, double>> beside;
  };

  std::map<std::string, Model, std::less<>> models_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  ///< Of kinds that stand in pairs.
};

}  // namespace orrery
