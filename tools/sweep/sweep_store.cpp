#include "tools/sweep/sweep_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/stream_text.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = ".orrery-sweep";
constexpr const char* kCells = "cells";
constexpr const char* kLock = ".lock";
constexpr std::string_view kCellMark = "orrery cell 1";

Digest key_of(const SweepIdentity& identity) {
  ByteWriter bytes;
  for (const Digest& part :
       {identity.file_text, identity.scenario_text, identity.program, identity.inputs})
    bytes.string(part.to_hex());
  bytes.varint(identity.cells);
  return digest_of(bytes.text());
}

/// The manifest: lines of a word and a value.
std::string manifest_of(const SweepIdentity& identity) {
  return "sweep " + identity.file + "\nfile " + identity.file_text.to_hex() + "\nscenario " +
         identity.scenario_text.to_hex() + "\nprogram " + identity.program.to_hex() + "\ninputs " +
         identity.inputs.to_hex() + "\ncells " + std::to_string(identity.cells) + "\n";
}

/// The value of a word in a manifest; empty where it has none.
std::string_view value_in(std::string_view manifest, std::string_view word) {
  while (!manifest.empty()) {
    const std::string_view line = manifest.substr(0, manifest.find('\n'));
    if (line.starts_with(word) && line.size() > word.size() && line[word.size()] == ' ')
      return line.substr(word.size() + 1);
    manifest.remove_prefix(std::min(line.size() + 1, manifest.size()));
  }
  return {};
}

std::optional<std::string> text_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return in ? rest_of(in) : std::nullopt;
}

Error unfit(const fs::path& folder, std::string message) {
  return {.code = ErrorCode::Conflict, .subject = folder.string(), .message = std::move(message)};
}

Error cannot_write(const fs::path& path, const std::error_code& code) {
  return {.subject = path.string(),
          .message = "cannot be written: " + code.message() +
                     "; free space there, or name another folder with --out"};
}

/// What of a sweep differs from how it was begun, in words; empty: nothing.
std::string change_of(std::string_view manifest, const SweepIdentity& now) {
  if (value_in(manifest, "file") != now.file_text.to_hex()) return now.file + " has changed";
  if (value_in(manifest, "scenario") != now.scenario_text.to_hex())
    return "its scenario " + now.scenario + " has changed";
  if (value_in(manifest, "program") != now.program.to_hex())
    return "this is another program (another version, or built anew)";
  if (value_in(manifest, "inputs") != now.inputs.to_hex())
    return "a file that its scenario names has changed";
  return {};
}

/// Why a folder with this manifest is none for the sweep; nothing where it is.
std::optional<Error> other_sweep(const fs::path& folder,
                                 std::string_view manifest,
                                 const SweepIdentity& now) {
  const std::string_view file = value_in(manifest, "sweep");
  if (file.empty())
    return unfit(folder,
                 "has a damaged file " + std::string(kManifest) +
                     ", needed the folder of one sweep; name another one with --out");
  const std::string change = change_of(manifest, now);
  if (change.empty()) return std::nullopt;
  if (file != now.file)
    return unfit(folder,
                 "is the folder of the sweep " + std::string(file) +
                     ", needed one that is new, empty or of " + now.file +
                     "; name another one with --out");
  return unfit(folder,
               "holds cells of this sweep, but since it was begun " + change +
                   ": they would not fit together; name another folder with --out, undo the "
                   "change, or remove this folder to begin anew");
}

/// Whether a folder has nothing but what a sweep begins with: its process may have been killed
/// then.
bool is_blank(const fs::path& folder) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    if (name != kLock && !name.starts_with(kManifest)) return false;
  }
  return !code;
}

/// Writes a file under another name and then renames it, so that it is whole or not there.
std::error_code write_whole(const fs::path& path, std::string_view text) {
  fs::path half = path;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  half += "." + std::string(host) + "-" + std::to_string(getpid()) + ".half";
  std::ofstream file(half, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  std::error_code code;
  if (!file) {
    code = {errno, std::generic_category()};
    std::error_code ignored;
    fs::remove(half, ignored);
    return code;
  }
  fs::rename(half, path, code);
  return code;
}

std::string cell_name(std::size_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return digits + ".cell";
}

std::optional<KeptCell> cell_in(const fs::path& path, Digest key, std::size_t number) {
  const std::optional<std::string> text = text_of_file(path);
  if (!text) return std::nullopt;
  ByteReader in(std::string_view{*text});
  const std::string body(in.string());
  const std::string digest(in.string());
  if (!in.finished() || digest != digest_of(body).to_hex()) return std::nullopt;
  ByteReader fields(std::string_view{body});
  const std::string mark(fields.string());
  const std::string of_key(fields.string());
  const std::uint64_t of_number = fields.varint();
  KeptCell cell;
  cell.code = static_cast<ExitCode>(fields.u8());
  cell.wall_s = fields.f64();
  cell.answer = fields.string();
  if (!fields.finished() || mark != kCellMark || of_key != key.to_hex() || of_number != number)
    return std::nullopt;
  return cell;
}

}  // namespace

Result<SweepStore> SweepStore::open(const std::string& path,
                                    const SweepIdentity& identity,
                                    SweepAccess access) {
  fs::path folder = fs::path(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "out/" names "out".
  if (folder.empty())
    return Error{.subject = "--out", .message = "an empty path found, needed the name of a folder"};
  std::error_code code;
  const fs::file_status status = fs::status(folder, code);
  if (fs::exists(status) && !fs::is_directory(status))
    return unfit(folder,
                 "is no folder, needed one that is new, empty or of this sweep; name "
                 "another one with --out");
  const std::optional<std::string> manifest = text_of_file(folder / kManifest);
  if (manifest) {
    if (auto error = other_sweep(folder, *manifest, identity)) return *error;
  } else if (fs::exists(status) && !is_blank(folder)) {
    return unfit(folder,
                 "holds files that no sweep wrote, needed a folder that is new, empty or "
                 "of this sweep; name another one with --out");
  }
  fs::create_directories(folder, code);
  if (code)
    return Error{.subject = folder.string(),
                 .message = "cannot be made: " + code.message() +
                            "; name a folder that can be written with --out"};
  SweepStore store(folder, key_of(identity));
  if (access == SweepAccess::Alone) {
    store.lock_ = ::open((folder / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (store.lock_ < 0) return cannot_write(folder / kLock, {errno, std::generic_category()});
    if (flock(store.lock_, LOCK_EX | LOCK_NB) != 0)
      return unfit(folder,
                   "another process runs this sweep now, needed a folder of one's own; "
                   "wait for it, or name another one with --out");
  }
  if (!manifest)
    if (const auto failed = write_whole(folder / kManifest, manifest_of(identity)))
      return cannot_write(folder / kManifest, failed);
  fs::create_directory(folder / kCells, code);
  if (code) return cannot_write(folder / kCells, code);
  return store;
}

std::vector<std::size_t> SweepStore::finished(const std::string& folder,
                                              const SweepIdentity& identity) {
  std::vector<std::size_t> out;
  const Digest key = key_of(identity);
  for (std::size_t number = 1; number <= identity.cells; ++number)
    if (cell_in(fs::path(folder) / kCells / cell_name(number), key, number)) out.push_back(number);
  return out;
}

SweepStore::SweepStore(SweepStore&& other) noexcept
    : folder_(std::move(other.folder_)), key_(other.key_), lock_(std::exchange(other.lock_, -1)) {}

SweepStore::~SweepStore() {
  if (lock_ >= 0) close(lock_);
}

std::optional<KeptCell> SweepStore::find(std::size_t number) const {
  return cell_in(folder_ / kCells / cell_name(number), key_, number);
}

Status SweepStore::keep(std::size_t number, const KeptCell& cell) const {
  ByteWriter body;
  body.string(kCellMark);
  body.string(key_.to_hex());
  body.varint(number);
  body.u8(static_cast<std::uint8_t>(cell.code));
  body.f64(cell.wall_s);
  body.string(cell.answer);
  ByteWriter bytes;
  bytes.string(body.text());
  bytes.string(digest_of(body.text()).to_hex());
  return put(std::string(kCells) + "/" + cell_name(number), bytes.text());
}

void SweepStore::remove_halves() const {
  std::error_code code;
  std::vector<fs::path> halves;
  for (const fs::path& folder : {folder_, folder_ / kCells})
    for (const auto& entry : fs::directory_iterator(folder, code))
      if (entry.path().extension() == ".half") halves.push_back(entry.path());
  for (const fs::path& half : halves) fs::remove(half, code);
}

Status SweepStore::put(const std::string& name, std::string_view text) const {
  if (const auto code = write_whole(folder_ / name, text))
    return cannot_write(folder_ / name, code);
  return Done{};
}

}  // namespace orrery::cli
