#include "sim/run/workload_file.hpp"

#include <fstream>
#include <sstream>
#include <utility>

#include "core/base/plain_lines.hpp"

namespace orrery::sim {

Result<std::string> read_workload_file(const std::string& path, const std::string& key) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in)
    return Error{
        ErrorCode::NotFound,
        path,
        0,
        key,
        "cannot be read, such a file is needed; check the path, or give another with --set " + key +
            "=PATH"};
  return plain_lines(std::move(text).str());
}

}  // namespace orrery::sim
