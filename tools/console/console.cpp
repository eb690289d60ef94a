#include "tools/console/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tools/console/printable.hpp"
#include "tools/console/verb.hpp"

namespace orrery::cli {
namespace {

/// What went wrong; 0 where all was written.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

constexpr int kReaderIsGone = 1;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

Console Console::of_this_process() {
  ConsoleTraits traits;
  traits.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  traits.err_is_terminal = isatty(STDERR_FILENO) == 1;
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  traits.colour = traits.out_is_terminal && !dumb && !is_set("NO_COLOR");
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) traits.columns = size.ws_col;
  return Console(traits);
}

void Console::out(std::string_view text) {
  const int wrong = write_all(STDOUT_FILENO, text);
  if (wrong == 0) return;
  // Who has closed the pipe has read what it wanted.
  if (wrong == EPIPE) std::_Exit(kReaderIsGone);
  write_all(STDERR_FILENO,
            "standard output: cannot be written: " + std::string(std::strerror(wrong)) +
                "; free space there, or write to another file\n");
  std::_Exit(static_cast<int>(ExitCode::BadInput));
}

void Console::err(std::string_view text) {
  if (write_all(STDERR_FILENO, text) != 0) std::_Exit(kReaderIsGone);
}

void Console::errors(const Errors& errors) {
  std::string text;
  for (const Error& error : errors) text += printable(error.text()) + "\n";
  err(text);
}

void Console::warnings(Errors warnings) {
  for (Error& warning : warnings) warning.message.insert(0, "warning: ");
  errors(warnings);
}

}  // namespace orrery::cli
