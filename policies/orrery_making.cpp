#include "policies/orrery_making.hpp"

namespace orrery::policies {

OrreryParameters orrery_parameters(const ParameterValues& values) {
  OrreryParameters out;
  out.period = values.duration("period");
  out.restart = values.duration("restart");
  out.horizon = values.duration("horizon");
  out.payback = values.number("payback");
  out.growth = values.number("growth");
  out.first_replicas = static_cast<std::int32_t>(values.integer("first_replicas"));
  out.guess = values.duration("guess");
  out.patience = values.duration("patience");
  out.epochs = values.flag("epochs");
  out.alike = values.flag("alike");
  return out;
}

}  // namespace orrery::policies
