// What differs between SimGrid 3.32 (Debian 12) and 4.x, in one place. The branches for 4.x follow
// its documented interface and have not been compiled: only 3.32 can be installed here.
#pragma once

#include <simgrid/forward.h>
#include <simgrid/version.h>

#include <functional>
#include <simgrid/s4u.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::sim::shim {

namespace s4u = simgrid::s4u;
using SimGridModel = simgrid::kernel::resource::Model;
using SimGridAction = simgrid::kernel::resource::Action;

/// Makes the hosts of a regular zone, place after place.
using MakeHost = std::function<s4u::Host*(s4u::NetZone* zone)>;

/// Two levels of switches.
struct FatTree {
  unsigned nodes_per_leaf = 1;
  unsigned leaves = 1;
  unsigned spines = 1;
};

/// Routers in chassis in groups, each joined to each of its kind.
struct Dragonfly {
  unsigned groups = 1;
  unsigned chassis = 1;
  unsigned routers = 1;
  unsigned nodes_per_router = 1;
};

/// What a regular zone's links are like: full duplex, each way of this bandwidth.
struct ZoneLinks {
  double bandwidth = 0;  ///< Bytes per second.
  double latency = 0;    ///< Seconds.
};

#if SIMGRID_VERSION >= 40000

inline constexpr std::string_view kTimePrecision = "precision/timing";

inline s4u::NetZone* outermost_zone(s4u::Engine& engine, const std::string&) {
  return engine.get_netzone_root();
}

inline s4u::NetZone* star_zone(s4u::NetZone* parent, const std::string& name) {
  return parent->add_netzone_star(name);
}

inline s4u::Host* add_host(s4u::NetZone* zone, const std::string& name, double flops) {
  return zone->add_host(name, flops);
}

inline s4u::Link* add_link(s4u::NetZone* zone, const std::string& name, double bandwidth) {
  return zone->add_link(name, bandwidth);
}

/// From now on the host's way out of the star is this, also where the star is sealed. Whether 4.x
/// allows the latter is not known.
inline void set_star_way(s4u::NetZone* zone,
                         s4u::Host* host,
                         const std::vector<s4u::LinkInRoute>& links) {
  const s4u::Host* none = nullptr;
  zone->add_route(host, none, links, false);
}

inline void join_star(s4u::NetZone* zone, s4u::Host* host, s4u::Link* link, bool up) {
  const s4u::Host* none = nullptr;
  zone->add_route(up ? host : none, up ? none : host, {s4u::LinkInRoute(link)}, false);
}

inline std::function<s4u::Host*(s4u::NetZone*, const std::vector<unsigned long>&, unsigned long)>
by_place(const MakeHost& make) {
  return [make](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long) {
    return make(zone);
  };
}

inline s4u::NetZone* fat_tree_zone(s4u::NetZone* parent,
                                   const std::string& name,
                                   const FatTree& shape,
                                   const MakeHost& make,
                                   const ZoneLinks& links) {
  return parent
      ->add_netzone_fatTree(name,
                            2,
                            {shape.nodes_per_leaf, shape.leaves},
                            {1, shape.spines},
                            {1, 1},
                            links.bandwidth,
                            links.latency,
                            s4u::Link::SharingPolicy::SPLITDUPLEX)
      ->set_host_cb(by_place(make));
}

inline s4u::NetZone* torus_zone(s4u::NetZone* parent,
                                const std::string& name,
                                const std::vector<unsigned long>& axes,
                                const MakeHost& make,
                                const ZoneLinks& links) {
  return parent
      ->add_netzone_torus(
          name, axes, links.bandwidth, links.latency, s4u::Link::SharingPolicy::SPLITDUPLEX)
      ->set_host_cb(by_place(make));
}

inline s4u::NetZone* dragonfly_zone(s4u::NetZone* parent,
                                    const std::string& name,
                                    const Dragonfly& shape,
                                    const MakeHost& make,
                                    const ZoneLinks& links) {
  return parent
      ->add_netzone_dragonfly(name,
                              {shape.groups, 1},
                              {shape.chassis, 1},
                              {shape.routers, 1},
                              shape.nodes_per_router,
                              links.bandwidth,
                              links.latency,
                              s4u::Link::SharingPolicy::SPLITDUPLEX)
      ->set_host_cb(by_place(make));
}

/// `completed` is called for each communication that ends, whatever its end.
inline void on_comm_completion(std::function<void(const s4u::Activity&)> completed) {
  s4u::Comm::on_completion_cb(
      [completed = std::move(completed)](const s4u::Comm& comm) { completed(comm); });
}

inline void start(s4u::Comm& comm) { comm.start(); }

inline s4u::ActorPtr add_actor(s4u::Host& host,
                               const std::string& name,
                               const std::function<void()>& code) {
  return host.add_actor(name, code);
}

/// Bytes per second that the link carries at present.
inline double load_of(const s4u::Link& link) { return link.get_load(); }

#else

inline constexpr std::string_view kTimePrecision = "surf/precision";

inline s4u::NetZone* outermost_zone(s4u::Engine&, const std::string& name) {
  return s4u::create_full_zone(name);
}

inline s4u::NetZone* star_zone(s4u::NetZone* parent, const std::string& name) {
  s4u::NetZone* zone = s4u::create_star_zone(name);
  zone->set_parent(parent);
  return zone;
}

inline s4u::Host* add_host(s4u::NetZone* zone, const std::string& name, double flops) {
  return zone->create_host(name, flops);
}

inline s4u::Link* add_link(s4u::NetZone* zone, const std::string& name, double bandwidth) {
  return zone->create_link(name, bandwidth);
}

/// From now on the host's way out of the star is this, also where the star is sealed.
inline void set_star_way(s4u::NetZone* zone,
                         s4u::Host* host,
                         const std::vector<s4u::LinkInRoute>& links) {
  zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, links, false);
}

inline void join_star(s4u::NetZone* zone, s4u::Host* host, s4u::Link* link, bool up) {
  auto* point = host->get_netpoint();
  zone->add_route(up ? point : nullptr,
                  up ? nullptr : point,
                  nullptr,
                  nullptr,
                  {s4u::LinkInRoute(link)},
                  false);
}

inline s4u::ClusterCallbacks callbacks(const MakeHost& make) {
  return s4u::ClusterCallbacks(
      [make](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long) {
        simgrid::kernel::routing::NetPoint* none = nullptr;
        return std::pair(make(zone)->get_netpoint(), none);
      });
}

inline s4u::NetZone* fat_tree_zone(s4u::NetZone* parent,
                                   const std::string& name,
                                   const FatTree& shape,
                                   const MakeHost& make,
                                   const ZoneLinks& links) {
  return s4u::create_fatTree_zone(
      name,
      parent,
      s4u::FatTreeParams(2, {shape.nodes_per_leaf, shape.leaves}, {1, shape.spines}, {1, 1}),
      callbacks(make),
      links.bandwidth,
      links.latency,
      s4u::Link::SharingPolicy::SPLITDUPLEX);
}

inline s4u::NetZone* torus_zone(s4u::NetZone* parent,
                                const std::string& name,
                                const std::vector<unsigned long>& axes,
                                const MakeHost& make,
                                const ZoneLinks& links) {
  return s4u::create_torus_zone(name,
                                parent,
                                axes,
                                callbacks(make),
                                links.bandwidth,
                                links.latency,
                                s4u::Link::SharingPolicy::SPLITDUPLEX);
}

inline s4u::NetZone* dragonfly_zone(s4u::NetZone* parent,
                                    const std::string& name,
                                    const Dragonfly& shape,
                                    const MakeHost& make,
                                    const ZoneLinks& links) {
  return s4u::create_dragonfly_zone(
      name,
      parent,
      s4u::DragonflyParams(
          {shape.groups, 1}, {shape.chassis, 1}, {shape.routers, 1}, shape.nodes_per_router),
      callbacks(make),
      links.bandwidth,
      links.latency,
      s4u::Link::SharingPolicy::SPLITDUPLEX);
}

/// `completed` is called for each activity that ends, whatever its end.
inline void on_comm_completion(std::function<void(const s4u::Activity&)> completed) {
  s4u::Activity::on_completion_cb(completed);
}

inline void start(s4u::Comm& comm) { comm.vetoable_start(); }

inline s4u::ActorPtr add_actor(s4u::Host& host,
                               const std::string& name,
                               const std::function<void()>& code) {
  return s4u::Actor::create(name, &host, code);
}

/// Bytes per second that the link carries at present.
inline double load_of(const s4u::Link& link) { return link.get_usage(); }

#endif

/// Joins two zones of the outermost one by one link each way. What goes from one into the other
/// passes none of the links between a zone's own hosts and its gateway.
inline void join_zones(s4u::NetZone* world,
                       s4u::NetZone* zone,
                       simgrid::kernel::routing::NetPoint* gateway,
                       s4u::NetZone* other,
                       simgrid::kernel::routing::NetPoint* other_gateway,
                       s4u::Link* there,
                       s4u::Link* back) {
  world->add_route(zone->get_netpoint(),
                   other->get_netpoint(),
                   gateway,
                   other_gateway,
                   {s4u::LinkInRoute(there)},
                   false);
  world->add_route(other->get_netpoint(),
                   zone->get_netpoint(),
                   other_gateway,
                   gateway,
                   {s4u::LinkInRoute(back)},
                   false);
}

}  // namespace orrery::sim::shim
