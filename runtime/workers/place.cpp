#include "runtime/workers/place.hpp"

#include <cstdlib>
#include <limits>

#include "core/base/number_text.hpp"

namespace orrery::worker {
namespace {

/// Reads numbers and keeps all that is wrong with them.
class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  /// The first of the variables that is set; `otherwise` where none is.
  template <class T>
  T number(std::initializer_list<std::string_view> names, T least, T most, T otherwise) {
    for (const std::string_view name : names) {
      const std::optional<std::string> text = environment_(name);
      if (!text) continue;
      const std::optional<T> value = parsed_number<T>(*text);
      if (value && *value >= least && *value <= most) return *value;
      refuse(std::string(name),
             "\"" + text->substr(0, 100) + "\", needs a whole number from " +
                 std::to_string(least) + " to " + std::to_string(most));
      return otherwise;
    }
    return otherwise;
  }

  std::string text(std::string_view name, std::string otherwise) {
    return environment_(name).value_or(std::move(otherwise));
  }

  void refuse(std::string subject, std::string message) {
    errors_.push_back({ErrorCode::InvalidInput, {}, 0, std::move(subject), std::move(message)});
  }

  const Errors& errors() const { return errors_; }

 private:
  const Environment& environment_;
  Errors errors_;
};

}  // namespace

Result<Start> start_of(const Environment& environment) {
  constexpr std::int32_t kRanksMax = 1 << 20;
  Reader reader(environment);
  Start out;
  Place& place = out.place;
  place.job = reader.text("ORRERY_JOB", place.job);
  place.generation = reader.number<std::uint64_t>(
      {"ORRERY_GENERATION"}, 0, std::numeric_limits<std::int64_t>::max(), place.generation);
  place.world_size =
      reader.number<std::int32_t>({"ORRERY_WORLD_SIZE", "WORLD_SIZE"}, 1, kRanksMax, 1);
  place.rank = reader.number<std::int32_t>({"ORRERY_RANK", "RANK"}, 0, kRanksMax - 1, 0);
  place.master_address = reader.text("MASTER_ADDR", place.master_address);
  place.master_port = reader.number<std::uint16_t>({"MASTER_PORT"}, 0, 65535, 0);
  if (place.rank >= place.world_size)
    reader.refuse("ORRERY_RANK",
                  std::to_string(place.rank) + " is not below ORRERY_WORLD_SIZE, " +
                      std::to_string(place.world_size) + "; ranks count from 0");
  if (place.world_size > 1 && place.master_port == 0 && !environment("MASTER_PORT"))
    reader.refuse("MASTER_PORT",
                  "is not set, and " + std::to_string(place.world_size) +
                      " workers need a place to meet; set it to a free port of "
                      "rank 0's host, the same for all");
  out.device = reader.number<std::int32_t>({"LOCAL_RANK"}, 0, 1023, 0);
  out.socket = reader.text("ORRERY_SOCKET", "");
  out.token = reader.text("ORRERY_TOKEN", "");
  const auto incarnation = reader.number<std::uint64_t>(
      {"ORRERY_INCARNATION"}, 0, std::numeric_limits<std::int64_t>::max(), 1);
  out.worker =
      reader.text("ORRERY_WORKER",
                  place.job + "-" + std::to_string(incarnation) + "-" + std::to_string(place.rank));
  if (!reader.errors().empty()) return reader.errors();
  return out;
}

std::optional<std::string> process_environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace orrery::worker
