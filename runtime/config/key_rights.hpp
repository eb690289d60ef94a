// Which users can read a file that must stay secret.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.hpp"

namespace orrery::runtime {

/// An error where others than its owner can read or write the file: a key, a token, or digests of
/// some. A file of root may be readable by its group, as packages install keys. Nothing where there
/// is no such file, or none is named: reading it reports that. Links are followed.
std::optional<Error> check_kept_secret(const std::string& path);

}  // namespace orrery::runtime
