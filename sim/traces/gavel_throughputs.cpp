#include "sim/traces/gavel_throughputs.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/traces/fields.hpp"
#include "sim/traces/json_lines.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {
namespace {

/// "('ResNet-18 (batch size 16)', 1)" to its two parts.
std::optional<std::pair<std::string, int>> job_in(std::string_view key) {
  constexpr std::string_view kBetween = "', ";
  const std::size_t between = key.rfind(kBetween);
  if (!key.starts_with("('") || !key.ends_with(")") || between == std::string_view::npos ||
      between < 2)
    return std::nullopt;
  const std::size_t from = between + kBetween.size();
  const auto gpus = number_in(key.substr(from, key.size() - 1 - from));
  if (!gpus || *gpus < 1 || *gpus > kTraceGpusMax || *gpus != std::floor(*gpus))
    return std::nullopt;
  return std::pair(std::string(key.substr(2, between - 2)), static_cast<int>(*gpus));
}

/// Receives the parser's calls: models at depth 1, jobs at 2, "null" and pairs at 3.
class TableHandler : public TraceJsonHandler {
 public:
  TableHandler(DeviceSpeeds& table, TraceErrors& errors, const std::size_t& line)
      : TraceJsonHandler(errors, line), table_(table) {}

  bool null() override { return other("null"); }

  bool boolean(bool) override { return other("a truth value"); }

  bool number_integer(number_integer_t number) override {
    return speed(static_cast<double>(number));
  }

  bool number_unsigned(number_unsigned_t number) override {
    return speed(static_cast<double>(number));
  }

  bool number_float(number_float_t number, const string_t&) override { return speed(number); }

  bool string(string_t&) override { return other("a text"); }

  bool binary(binary_t&) override { return other("bytes"); }

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ > kDepth || arrays_ > 0) return other("an object");
    return true;
  }

  bool end_object() override {
    --depth_;
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ < kDepth || arrays_ > 0) return other("a list");
    ++arrays_;
    pair_.clear();
    return true;
  }

  bool end_array() override {
    --arrays_;
    if (!job_ || !other_ || job_->second != other_->second) return true;
    if (pair_.size() == 2)
      table_.add_beside(model_, job_->first, other_->first, job_->second, pair_[0], pair_[1]);
    else
      errors_.add(line_,
                  "throughputs",
                  "found " + std::to_string(pair_.size()) +
                      " speeds of a pair, but 2 are needed, of the first and of the other");
    return true;
  }

  bool key(string_t& name) override {
    if (depth_ == 1) {
      model_ = name;
      table_.add_model(model_);
    } else if (depth_ == 2) {
      job_ = job_in(name);
      if (!job_)
        errors_.add(line_,
                    "throughputs",
                    "found the job " + quote_input(name) +
                        ", but a type and a number of GPUs are needed; write it as ('ResNet-18 "
                        "(batch size 16)', 1)");
    }
    alone_ = depth_ == kDepth && name == "null";
    other_ = depth_ == kDepth && !alone_ ? job_in(name) : std::nullopt;
    return true;
  }

 private:
  static constexpr int kDepth = 3;

  /// A value that the format has no place for; ends the reading, for nothing after it has meaning.
  bool other(std::string_view what) {
    errors_.add(line_,
                "throughputs",
                "found " + std::string(what) +
                    " where none belongs, but objects of models, jobs and speeds are needed; is it "
                    "a table of Gavel?");
    return false;
  }

  bool speed(double steps_per_second) {
    if (depth_ != kDepth) return other("a number");
    if (!std::isfinite(steps_per_second) || steps_per_second < 0 || steps_per_second > 1e9) {
      errors_.add(line_,
                  "throughputs",
                  "found " + std::to_string(steps_per_second) +
                      ", but 0 to 1000000000 steps a second are needed; correct the number");
    } else if (alone_ && arrays_ == 0 && job_) {
      table_.add(model_, job_->first, job_->second, steps_per_second);
    } else if (arrays_ > 0) {
      pair_.push_back(steps_per_second);
    }
    return true;
  }

  DeviceSpeeds& table_;
  int depth_ = 0;
  int arrays_ = 0;
  bool alone_ = false;
  std::string model_;
  std::optional<std::pair<std::string, int>> job_;
  std::optional<std::pair<std::string, int>> other_;  ///< Of a pair, the second.
  std::vector<double> pair_;
};

}  // namespace

bool looks_like_gavel_throughputs(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"('") != std::string_view::npos;
}

Result<DeviceSpeeds> parse_gavel_throughputs(std::string_view text, std::string_view file_name) {
  DeviceSpeeds table;
  TraceErrors errors(file_name);
  std::size_t line = 1;
  TableHandler handler(table, errors, line);
  const bool whole = parse_json_lines(text, line, handler);
  if (!errors.empty()) return errors.take();
  invariant(whole, "a broken table of throughputs has an error");
  return table;
}

}  // namespace orrery::sim
