// The way to a platform, and the process that runs its edges.

#ifndef VP_SYSTEMC_PARTNER_H
#define VP_SYSTEMC_PARTNER_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <systemc>

#include "vp.h"

namespace vp {

// The message type of all reports.
inline constexpr const char *report_type = "vp";

class partner;

// The pins of ports, which a partner samples and sees once an edge.
class clocked {
 public:
  clocked() = default;
  clocked(const clocked &) = delete;
  clocked &operator=(const clocked &) = delete;
  virtual ~clocked() = default;

 protected:
  friend class partner;
  // Samples what this side drives at the present edge.
  virtual vp_status sample() = 0;
  // Sees what the platform drives there.
  virtual vp_status see() = 0;
};

// A partner of the platform at an address (see vp_connect; nullptr: that in the variable VP_CONNECT), with the process that runs its edges.
class partner : public sc_core::sc_module {
 public:
  explicit partner(const sc_core::sc_module_name &name, const char *address = nullptr, uint32_t quantum = 0)
      : sc_module(name), handle_(vp_connect(address, VP_REACTION_NEXT_EDGE, quantum, reset_edges)) {
    if (handle_ == nullptr) {
      SC_REPORT_FATAL(report_type, vp_error(nullptr));
      return;
    }
    const uint64_t ps = vp_period(handle_);
    period_ = sc_core::sc_time(static_cast<double>(ps), sc_core::SC_PS);
    if (static_cast<uint64_t>(std::llround(period_.to_seconds() * 1e12)) != ps) {
      const std::string what = "a clock cycle of the platform is " + std::to_string(ps) + " ps, and the time resolution " +
                               sc_core::sc_get_time_resolution().to_string() + ": sc_set_time_resolution(1, SC_PS) is exact";
      SC_REPORT_FATAL(report_type, what.c_str());
    }
    SC_HAS_PROCESS(partner);
    SC_METHOD(on_edge);
  }

  ~partner() override { vp_close(handle_); }

  // The length of a clock cycle of the platform.
  const sc_core::sc_time &period() const { return period_; }

  // The number of the present edge, or of the last one.
  uint64_t edge() const { return edge_; }

  // The first edge that is not before a time.
  uint64_t edge_at(const sc_core::sc_time &time) const {
    return (time.value() + period_.value() - 1) / period_.value();
  }

  // One of the platform's counters, such as nvdla.cycles.
  uint64_t counter(const char *name) {
    uint64_t value = 0;
    check(vp_counter(handle_, name, &value));
    return value;
  }

  // For the modules of its ports: the library's partner, and the number of a port that was just taken.
  vp_partner *handle() { return handle_; }

  int32_t take(clocked *pins, int32_t port) {
    if (port < 0) SC_REPORT_FATAL(report_type, vp_error(handle_));
    if (std::find(ports_.begin(), ports_.end(), pins) == ports_.end()) ports_.push_back(pins);
    return port;
  }

  // Whether the simulation goes on.
  bool check(vp_status status) {
    if (status == VP_STATUS_OK) return true;
    if (status == VP_STATUS_ERROR) SC_REPORT_ERROR(report_type, vp_error(handle_));
    sc_core::sc_stop();
    return false;
  }

 private:
  static constexpr uint32_t reset_edges = 16;

  void on_edge() {
    // What happens at the same time in the first delta cycle comes before.
    is_late_ = !is_late_;
    if (is_late_) return next_trigger(sc_core::SC_ZERO_TIME);
    edge_ = sc_core::sc_time_stamp().value() / period_.value();
    for (clocked *port : ports_) {
      if (!check(port->sample())) return;
    }
    for (clocked *port : ports_) {
      if (!check(port->see())) return;
    }
    next_trigger(period_);
  }

  vp_partner *handle_;
  sc_core::sc_time period_;
  std::vector<clocked *> ports_;
  uint64_t edge_ = 0;
  bool is_late_ = false;
};

}  // namespace vp

#endif  // VP_SYSTEMC_PARTNER_H
