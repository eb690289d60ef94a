// Where a verb writes: results to standard output, everything else to standard error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/result.hpp"

namespace orrery::cli {

/// What the two outputs are, found once at the start.
struct ConsoleTraits {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool colour = false;  ///< Standard output is a terminal, NO_COLOR is not set, TERM not "dumb".
  std::size_t columns = 80;  ///< Of the terminal that standard error is.

  /// Longest line that a table on standard output may have: the terminal's, else any.
  std::size_t table_width() const { return out_is_terminal ? columns : SIZE_MAX; }
};

/// Standard output and standard error. A write that fails ends the program: with code 2 and a line
/// on standard error where standard output cannot be written (a full disk), with code 1 and without
/// a word where its reader has gone or standard error cannot be written.
class Console {
 public:
  explicit Console(const ConsoleTraits& traits) : traits_(traits) {}

  /// Asks the terminal and the environment.
  static Console of_this_process();

  const ConsoleTraits& traits() const { return traits_; }

  void out(std::string_view text);
  void err(std::string_view text);

  /// One line per error on standard error.
  void errors(const Errors& errors);

  /// The same with the word before what was found, behind the place.
  void warnings(Errors warnings);

 private:
  ConsoleTraits traits_;
};

}  // namespace orrery::cli
