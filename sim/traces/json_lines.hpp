// JSON that is read by its parser's calls, with the lines at which they come.
#pragma once

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// Walks the text and counts the lines passed, which the parser itself does not tell.
class LineCounter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCounter(const char* at, std::size_t* line) : at_(at), line_(line) {}

  reference operator*() const { return *at_; }

  LineCounter& operator++() {
    *line_ += static_cast<std::size_t>(*at_ == '\n');
    ++at_;
    return *this;
  }

  friend bool operator==(const LineCounter& a, const LineCounter& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  std::size_t* line_;
};

/// Calls `handler` for what `text` holds; `line` goes on from what it is to the parser's line.
/// Whether all of it was read.
inline bool parse_json_lines(std::string_view text,
                             std::size_t& line,
                             nlohmann::json_sax<nlohmann::json>& handler) {
  return nlohmann::json::sax_parse(
      LineCounter(text.data(), &line), LineCounter(text.data() + text.size(), &line), &handler);
}

/// What the handlers of traces in JSON share.
class TraceJsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  TraceJsonHandler(TraceErrors& errors, const std::size_t& line) : errors_(errors), line_(line) {}

  bool parse_error(std::size_t,
                   const std::string& token,
                   const nlohmann::detail::exception&) override {
    errors_.add(line_,
                "JSON",
                "found " + quote_input(token) +
                    ", which JSON does not allow here; is the file cut or damaged? Fetch it again");
    return false;
  }

 protected:
  TraceErrors& errors_;
  const std::size_t& line_;
};

}  // namespace orrery::sim
