#include "tools/client/event_stream.hpp"

#include <utility>

namespace orrery::cli {

void EventStreamParser::take_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == line.npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    event_.name = value;
  } else if (field == "id") {
    event_.id = value;
  } else if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
}

std::optional<ServerEvent> EventStreamParser::next() {
  std::size_t at = 0;
  while (true) {
    const std::size_t end = buffer_.find('\n', at);
    if (end == buffer_.npos) {
      buffer_.erase(0, at);
      return std::nullopt;
    }
    std::string_view line = std::string_view(buffer_).substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    if (!line.empty()) {
      take_line(line);
      continue;
    }
    ServerEvent done = std::exchange(event_, {});
    const bool whole = std::exchange(has_data_, false) || !done.name.empty();
    if (!whole) continue;
    buffer_.erase(0, at);
    return done;
  }
}

}  // namespace orrery::cli
