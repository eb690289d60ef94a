#include "tools/console/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "tools/console/printable.hpp"

namespace orrery::cli {
namespace {

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    // The reader has gone: the rest of the output is dropped.
    if (written < 0) std::_Exit(1);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

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

void Console::out(std::string_view text) { write_all(STDOUT_FILENO, text); }

void Console::err(std::string_view text) { write_all(STDERR_FILENO, text); }

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
