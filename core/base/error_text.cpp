#include "core/base/error_text.hpp"

namespace orrery {

std::string text_of(const Errors& errors) {
  std::string out;
  for (const Error& error : errors) out += (out.empty() ? "" : "\n") + error.text();
  return out;
}

}  // namespace orrery
