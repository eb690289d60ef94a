// From what probe jobs measured to a calibration file, and to what people and scripts read of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/client/all_reduce_fit.hpp"
#include "tools/client/probe_jobs.hpp"
#include "tools/console/calibration_table.hpp"

namespace orrery::cli {

struct MeasuredCalibration {
  ProbeReport report;
  std::optional<AllReduceFit> all_reduce;
  std::string device_model;          ///< Whose compute was measured; empty: none.
  std::vector<std::string> remarks;  ///< Sentences.

  std::vector<CalibrationRow> rows() const;

  /// A calibration file (docs/scenario_format.md). `source`: where it comes from, for people.
  std::string yaml(const std::string& source) const;

  /// One document; `file`: where the calibration was written.
  std::string json(const std::string& file) const;
};

/// `models`: of all devices of the cluster. A device's rate is measured only where ranks had
/// devices, and all are of one model.
MeasuredCalibration measured_calibration(ProbeReport report,
                                         const ProbePlan& plan,
                                         const std::vector<std::string>& models);

}  // namespace orrery::cli
