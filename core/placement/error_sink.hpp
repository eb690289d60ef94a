// Where errors of one subject go.
#pragma once

#include <string>
#include <utility>

#include "core/placement/placement_error.hpp"

namespace orrery::placement {

/// What an error says beside its kind and place.
struct ErrorWords {
  std::string found;
  std::string needed;
  std::string remedy;
};

/// Appends errors about one subject in one stage. Does not own the errors.
class ErrorSink {
 public:
  ErrorSink(PlacementErrors& errors, Stage stage, std::string subject)
      : errors_(&errors), stage_(stage), subject_(std::move(subject)) {}

  void add(ErrorKind kind, TextPosition at, ErrorWords words) const {
    errors_->push_back({.kind = kind,
                        .stage = stage_,
                        .at = at,
                        .subject = subject_,
                        .found = std::move(words.found),
                        .needed = std::move(words.needed),
                        .remedy = std::move(words.remedy)});
  }

  /// Another subject in the same stage.
  ErrorSink about(std::string subject) const { return {*errors_, stage_, std::move(subject)}; }

  /// The same subject in another stage.
  ErrorSink in(Stage stage) const { return {*errors_, stage, subject_}; }

 private:
  PlacementErrors* errors_;
  Stage stage_;
  std::string subject_;
};

}  // namespace orrery::placement
