// Everything of the SDK. Installed as <orrery/sdk.hpp>; docs/sdk_cpp.md begins with it.
#pragma once

#include "runtime/sdk/channel.hpp"
#include "runtime/sdk/context.hpp"
#include "runtime/sdk/driver.hpp"
#include "runtime/sdk/errors.hpp"
#include "runtime/sdk/future.hpp"
#include "runtime/sdk/group.hpp"
#include "runtime/sdk/launch.hpp"
#include "runtime/sdk/membership.hpp"
#include "runtime/sdk/method.hpp"
#include "runtime/sdk/turn.hpp"
#include "runtime/sdk/value.hpp"
#include "runtime/sdk/worker.hpp"
