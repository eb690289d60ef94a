// The workers of a job in one generation, as one of them sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::sdk {

/// One worker of the job.
struct Member {
  std::int64_t rank = 0;  ///< In the job.
  std::string role;
  std::int64_t role_rank = 0;
  std::string node;
  std::string address;
  std::int64_t first_port = 0;  ///< Of the ports that are the worker's own.

  friend bool operator==(const Member&, const Member&) = default;
};

struct Membership {
  std::uint64_t generation = 0;
  std::int64_t rank = -1;  ///< -1: this worker is no member.
  std::int64_t role_rank = -1;
  std::int64_t world_size = 0;
  std::string master_address;  ///< Where rank 0 listens for its peers.
  std::int64_t master_port = 0;
  std::vector<Member> members;  ///< By rank; empty where only the environment is known.

  friend bool operator==(const Membership&, const Membership&) = default;
};

}  // namespace orrery::sdk
