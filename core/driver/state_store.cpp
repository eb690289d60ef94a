#include "core/driver/state_store.hpp"

namespace orrery {

Error deposed(const std::string& file, Epoch writer, Epoch leader) {
  return {ErrorCode::Conflict,
          file,
          0,
          "journal",
          "the leader of epoch " + std::to_string(writer.value) + " is deposed: epoch " +
              std::to_string(leader.value) +
              " has begun to write; end this controller, the other one goes on"};
}

}  // namespace orrery
