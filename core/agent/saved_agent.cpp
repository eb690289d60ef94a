// An agent in bytes, to be compared.
#include "core/agent/agent.hpp"
#include "core/record/codec.hpp"

namespace orrery {

void Agent::save(ByteWriter& out) const {
  Encoder encoder(out);
  encoder.put(last_order_);
  encoder.put(epoch_);
  encoder.put(lease_held_);
  // Where no lease is held its end means nothing to the agent; whoever hosts it may look at it.
  encoder.put(lease_until_);
  encoder.put(registering_);
  encoder.put(registering_since_);
  encoder.put(heartbeat_at_);
  encoder.put(heartbeats_);
  out.varint(workers_.size());
  for (const auto& [name, worker] : workers_) encoder.put(worker);
  out.varint(ended_.size());
  for (const auto& [name, ended] : ended_) encoder.put(ended);
  out.varint(ended_order_.size());
  for (const WorkerName& name : ended_order_) encoder.put(name);
}

}  // namespace orrery
