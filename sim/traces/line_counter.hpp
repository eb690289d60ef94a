// Lines of a text while a parser walks it, for parsers that tell bytes and no lines.
#pragma once

#include <cstddef>
#include <iterator>

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

}  // namespace orrery::sim
