// Bearer tokens of HTTP. A file holds their SHA-256 digests alone: reading it gives away no token.
//
//     # comment
//     DIGEST ROLE NAME        64 hexadecimal digits; agent, user or admin; the holder's name
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "runtime/security/role.hpp"

namespace orrery::runtime {

using TokenDigest = std::array<unsigned char, 32>;

/// One line of the file.
struct TokenEntry {
  TokenDigest digest{};
  Holder holder;
};

/// A new token: "orrery_" and 256 random bits as 43 characters fit for a header. Errors: no
/// randomness.
Result<std::string> make_token();

TokenDigest digest_of(std::string_view token);

/// Errors, all at once, with `file` and line: a line that is none of the forms above.
Result<std::vector<TokenEntry>> parse_tokens(std::string_view text, const std::string& file);

/// Adds a line for `token` to the file, which is made where it is not there. One writer at a time.
/// Errors: a file that is unsound or cannot be written.
Status add_token(const std::string& file, std::string_view token, const Holder& holder);

/// Removes all tokens of `holder`; returns how many there were. Errors as above, and none there.
Result<std::size_t> revoke_tokens(const std::string& file, const Holder& holder);

/// Knows the tokens of a file, and follows its changes: a file that was replaced is read again
/// before the next answer. While it cannot be read or is unsound every token is refused. Any
/// thread.
class TokenFile {
 public:
  /// Errors: the file cannot be read or is unsound now.
  static Result<std::unique_ptr<TokenFile>> open(const std::string& file);

  /// The holder of this token; nothing where it is unknown. Takes equally long for each token.
  std::optional<Holder> identify(std::string_view token);

  /// Why every token is refused at present; empty where all is well.
  Errors problem();

 private:
  explicit TokenFile(std::string file) : file_(std::move(file)) {}

  void refresh();

  const std::string file_;
  std::mutex mutex_;

  struct stat read_at_ {};  ///< What the file was when it was read.

  std::vector<TokenEntry> entries_;
  Errors errors_;
};

}  // namespace orrery::runtime
