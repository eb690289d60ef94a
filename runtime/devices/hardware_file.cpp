#include "runtime/devices/hardware_file.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "core/base/number_text.hpp"
#include "core/base/stream_text.hpp"

namespace orrery::runtime {
namespace {

constexpr std::int32_t kPiecesMax = 64;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_type(std::string_view text) {
  return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::optional<std::int32_t> parse_count(std::string_view text) {
  const std::optional<std::int32_t> count = parsed_number<std::int32_t>(text);
  return count && *count >= 1 && *count <= kPiecesMax ? count : std::nullopt;
}

class HardwareReader {
 public:
  explicit HardwareReader(const std::string& file) : file_(file) {}

  void read(std::string_view line) {
    ++line_;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) return;
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view type = trimmed(line.substr(0, colon));
    const std::string_view number = trimmed(line.substr(std::min(colon + 1, line.size())));
    if (!is_type(type))
      return fail("hardware",
                  "the type is '" + std::string(type.substr(0, 80)) +
                      "', 1 to 63 of a-z, A-Z, 0-9, '.', '_' and '-' are needed; write for example "
                      "franka: 2");
    const auto count = parse_count(number);
    if (!count)
      return fail(std::string(type),
                  "the count is '" + std::string(number.substr(0, 80)) +
                      "', a whole number from 1 to 64 is needed; write for example " +
                      std::string(type) + ": 2");
    const bool known = std::any_of(
        found_.begin(), found_.end(), [&](const HardwareCount& each) { return each.type == type; });
    if (known)
      return fail(std::string(type), "stands twice, each type stands once; add the counts up");
    pieces_ += *count;
    if (pieces_ > kPiecesMax && pieces_ - *count <= kPiecesMax)
      fail(std::string(type),
           "makes " + std::to_string(pieces_) +
               " pieces of hardware, at most 64 are managed on a node; leave some out");
    found_.push_back({std::string(type), *count});
  }

  Result<std::vector<HardwareCount>> take() {
    if (!errors_.empty()) return std::move(errors_);
    return std::move(found_);
  }

 private:
  void fail(std::string subject, std::string message) {
    errors_.push_back(
        {ErrorCode::InvalidInput, file_, line_, std::move(subject), std::move(message)});
  }

  const std::string& file_;
  int line_ = 0;
  std::int32_t pieces_ = 0;
  std::vector<HardwareCount> found_;
  Errors errors_;
};

}  // namespace

Result<std::vector<HardwareCount>> parse_hardware(std::string_view text, const std::string& file) {
  HardwareReader reader(file);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.take();
}

Result<std::vector<HardwareCount>> load_hardware(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::optional<std::string> text = rest_of(in);
  if (!text)
    return Error{ErrorCode::NotFound,
                 path,
                 0,
                 "hardware",
                 "cannot be read, a readable file is needed; check inventory.hardware_file"};
  return parse_hardware(*text, path);
}

}  // namespace orrery::runtime
