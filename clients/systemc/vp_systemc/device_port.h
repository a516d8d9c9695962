// A device in SystemC, of the platform's CPU.

#ifndef VP_SYSTEMC_DEVICE_PORT_H
#define VP_SYSTEMC_DEVICE_PORT_H

#include <algorithm>
#include <deque>
#include <string>

#include <tlm_utils/simple_initiator_socket.h>

#include "partner.h"
#include "transport.h"

namespace vp {

// The device of a platform is whatever `registers` is bound to; it drives `interrupt`.
//
// Each access is a b_transport of 4 bytes, one after the other. Its answer is on the pins at the first edge when that has returned and the annotated delay is
// over, at least one edge after the access. The pins have no errors: one is a warning, and reads give 0.
class device_port : public sc_core::sc_module, private clocked {
 public:
  tlm_utils::simple_initiator_socket<device_port> registers{"registers"};
  sc_core::sc_in<bool> interrupt{"interrupt"};
  // High while the platform is being put back; it may be left unbound.
  sc_core::sc_port<sc_core::sc_signal_inout_if<bool>, 1, sc_core::SC_ZERO_OR_MORE_BOUND> reset{"reset"};

  device_port(const sc_core::sc_module_name &name, partner &link, const char *registers_port = "csb0",
              const char *line_port = "irq0")
      : sc_module(name), link_(link),
        registers_port_(link.take(this, vp_register_target(link.handle(), registers_port))),
        line_port_(link.take(this, vp_line_source(link.handle(), line_port))) {
    SC_HAS_PROCESS(device_port);
    SC_THREAD(serve);
  }

 private:
  struct access {
    vp_register_initiator_pins pins;
    // When it was taken; its answer then.
    uint64_t edge;
    // How many resets were before.
    uint64_t resets;
  };

  void serve() {
    for (;;) {
      while (accesses_.empty()) wait(arrived_);
      access next = accesses_.front();
      accesses_.pop_front();
      tlm::tlm_generic_payload payload;
      uint32_t &value = next.pins.value;
      detail::fill(payload, next.pins.write, next.pins.address, reinterpret_cast<uint8_t *>(&value), 4);
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      registers->b_transport(payload, delay);
      if (payload.is_response_error()) {
        const std::string what = std::string(next.pins.write ? "write" : "read") + " of register " +
                                 std::to_string(next.pins.address) + ": " + payload.get_response_string();
        SC_REPORT_WARNING(report_type, what.c_str());
        value = 0;
      }
      if (next.pins.posted || next.resets != resets_) continue;
      const uint64_t due = std::max(next.edge + 1, link_.edge_at(sc_core::sc_time_stamp() + delay));
      answers_.push_back({next.pins, due, next.resets});
    }
  }

  vp_status sample() override {
    vp_register_target_pins pins = {true, false, false, 0};
    if (!answers_.empty() && answers_.front().edge <= link_.edge()) {
      const vp_register_initiator_pins &answered = answers_.front().pins;
      pins.read_valid = !answered.write;
      pins.write_complete = answered.write;
      pins.value = answered.write ? 0 : answered.value;
      answers_.pop_front();
    }
    const vp_status status = vp_register_target_sample(link_.handle(), registers_port_, &pins);
    if (status != VP_STATUS_OK) return status;
    return vp_line_source_sample(link_.handle(), line_port_, interrupt.read());
  }

  vp_status see() override {
    vp_register_initiator_pins seen;
    vp_status status = vp_register_target_seen(link_.handle(), registers_port_, &seen);
    if (status == VP_STATUS_OK) status = vp_line_source_seen(link_.handle(), line_port_);
    if (status != VP_STATUS_OK) return status;
    const bool in_reset = vp_in_reset(link_.handle(), registers_port_);
    if (in_reset != was_in_reset_ && reset.size() > 0) reset->write(in_reset);
    if (in_reset && !was_in_reset_) {
      ++resets_;
      accesses_.clear();
      answers_.clear();
    }
    was_in_reset_ = in_reset;
    if (!in_reset && seen.valid) {
      accesses_.push_back({seen, link_.edge(), resets_});
      arrived_.notify();
    }
    return VP_STATUS_OK;
  }

  partner &link_;
  int32_t registers_port_, line_port_;
  std::deque<access> accesses_, answers_;
  uint64_t resets_ = 0;
  bool was_in_reset_ = false;
  sc_core::sc_event arrived_;
};

}  // namespace vp

#endif  // VP_SYSTEMC_DEVICE_PORT_H
