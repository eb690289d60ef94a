#include "runtime/security/tokens.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "runtime/config/key_rights.hpp"
#include "runtime/security/secret_files.hpp"

namespace orrery::runtime {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kHead =
    "# Bearer tokens: SHA-256, role, name. Written by `orrery certs token`.\n";

std::string hex(const TokenDigest& digest) {
  std::string text;
  for (const unsigned char byte : digest) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::optional<TokenDigest> from_hex(std::string_view text) {
  TokenDigest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const std::size_t high = kHex.find(text[2 * i]);
    const std::size_t low = kHex.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    digest[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return digest;
}

/// Lets one process at a time change what is in a folder; it lasts as long as this object.
class FolderLock {
 public:
  explicit FolderLock(const std::string& file) {
    const std::size_t slash = file.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
    descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
  }

  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

bool is_same_version(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

/// The role, the name and what follows them, of one line.
std::optional<TokenEntry> entry_of(const std::string& line) {
  std::istringstream words(line);
  std::string digest;
  std::string role;
  std::string name;
  std::string more;
  words >> digest >> role >> name;
  const auto bytes = from_hex(digest);
  const auto known = enum_from<Role>(role);
  if (!bytes || !known || *known == Role::Controller || !is_holder_name(*known, name) ||
      words >> more)
    return std::nullopt;
  return TokenEntry{*bytes, {*known, name}};
}

}  // namespace

Result<std::string> make_token() {
  std::array<unsigned char, 32> random{};
  if (RAND_bytes(random.data(), random.size()) != 1)
    return Error{ErrorCode::Unavailable, {}, 0, "token", "no randomness can be had; try again"};
  std::array<unsigned char, 48> text{};
  const int size = EVP_EncodeBlock(text.data(), random.data(), random.size());
  std::string token = "orrery_";
  for (int i = 0; i < size; ++i)
    if (text[i] != '=')
      token += text[i] == '+' ? '-' : text[i] == '/' ? '_' : static_cast<char>(text[i]);
  return token;
}

TokenDigest digest_of(std::string_view token) {
  TokenDigest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return digest;
}

Result<std::vector<TokenEntry>> parse_tokens(std::string_view text, const std::string& file) {
  std::vector<TokenEntry> entries;
  Errors errors;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.front() == '#') continue;
    if (auto entry = entry_of(line))
      entries.push_back(std::move(*entry));
    else
      errors.push_back({ErrorCode::InvalidInput,
                        file,
                        number,
                        "token",
                        "is no line 'DIGEST ROLE NAME' with a SHA-256 digest and role agent, user "
                        "or admin; remove it and make a new one with `orrery certs token`"});
  }
  if (!errors.empty()) return errors;
  return entries;
}

Status add_token(const std::string& file, std::string_view token, const Holder& holder) {
  const FolderLock lock(file);
  std::string text(kHead);
  if (::access(file.c_str(), F_OK) == 0) {
    auto old = read_whole_file(file);
    if (!old) return old.errors();
    if (auto parsed = parse_tokens(*old, file); !parsed) return parsed.errors();
    text = *old;
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  text +=
      hex(digest_of(token)) + " " + std::string(to_string(holder.role)) + " " + holder.name + "\n";
  return write_files({{file, text, true}}, Existing::Replace);
}

Result<std::size_t> revoke_tokens(const std::string& file, const Holder& holder) {
  const FolderLock lock(file);
  auto old = read_whole_file(file);
  if (!old) return old.errors();
  std::string text;
  std::size_t removed = 0;
  std::istringstream lines{*old};
  for (std::string line; std::getline(lines, line);) {
    const auto entry = entry_of(line);
    if (entry && entry->holder == holder)
      ++removed;
    else
      text += line + "\n";
  }
  if (removed == 0)
    return Error{ErrorCode::NotFound,
                 file,
                 0,
                 std::string(to_string(holder.role)) + " '" + holder.name + "'",
                 "has no token here, one is needed to revoke; check role and name"};
  if (Status written = write_files({{file, text, true}}, Existing::Replace); !written)
    return written.errors();
  return removed;
}

Result<std::unique_ptr<TokenFile>> TokenFile::open(const std::string& file) {
  std::unique_ptr<TokenFile> tokens(new TokenFile(file));
  if (Errors errors = tokens->problem(); !errors.empty()) return errors;
  return tokens;
}

std::optional<Holder> TokenFile::identify(std::string_view token) {
  const TokenDigest digest = digest_of(token);
  const std::lock_guard lock(mutex_);
  refresh();
  // Every entry is compared whole: how long it takes says nothing about which one matched, or how
  // far.
  const TokenEntry* found = nullptr;
  for (const TokenEntry& entry : entries_)
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) found = &entry;
  if (found == nullptr) return std::nullopt;
  return found->holder;
}

Errors TokenFile::problem() {
  const std::lock_guard lock(mutex_);
  refresh();
  return errors_;
}

void TokenFile::refresh() {
  struct stat now {};

  if (::stat(file_.c_str(), &now) == 0 && is_same_version(now, read_at_)) return;
  read_at_ = now;
  entries_.clear();
  errors_.clear();
  if (std::optional<Error> open = check_kept_secret(file_)) {
    errors_ = Errors{*open};
    return;
  }
  auto text = read_whole_file(file_);
  if (!text) {
    errors_ = text.errors();
    return;
  }
  auto entries = parse_tokens(*text, file_);
  if (entries)
    entries_ = std::move(*entries);
  else
    errors_ = entries.errors();
}

}  // namespace orrery::runtime
