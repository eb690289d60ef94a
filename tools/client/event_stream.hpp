// Server-sent events, taken from a stream of text as it arrives.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery::cli {

struct ServerEvent {
  std::string name;  ///< Empty: none was given.
  std::string id;
  std::string data;  ///< Lines joined by line ends.
};

/// Feed pieces of any size, then take events until there is none.
class EventStreamParser {
 public:
  void feed(std::string_view text) { buffer_ += text; }

  /// The next whole event; nothing where more text is needed. Comments are left out.
  std::optional<ServerEvent> next();

 private:
  void take_line(std::string_view line);

  std::string buffer_;
  ServerEvent event_;
  bool has_data_ = false;
};

}  // namespace orrery::cli
