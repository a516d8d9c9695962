// A CPU in SystemC, which accesses a device of the platform.

#ifndef VP_SYSTEMC_CPU_PORT_H
#define VP_SYSTEMC_CPU_PORT_H

#include <algorithm>

#include <tlm>
#include <tlm_utils/simple_target_socket.h>

#include "partner.h"

namespace vp {

// The CPU of a platform is whatever accesses `registers` and reads `interrupt`.
//
// Payloads are words: 4 bytes at a multiple of 4. b_transport returns at the edge that sees the answer, of a posted write at the edge that takes it; the
// access is on the pins at the first edge after the annotated delay. One is open at a time.
class cpu_port : public sc_core::sc_module, private clocked {
 public:
  tlm_utils::simple_target_socket<cpu_port> registers{"registers"};
  sc_core::sc_out<bool> interrupt{"interrupt"};
  // Writes are over when they are taken, and not when the device says so.
  bool posted_writes = true;

  cpu_port(const sc_core::sc_module_name &name, partner &link, const char *registers_port = "csb0",
           const char *line_port = "irq0")
      : sc_module(name), link_(link),
        registers_port_(link.take(this, vp_register_initiator(link.handle(), registers_port))),
        line_port_(link.take(this, vp_line_sink(link.handle(), line_port))) {
    registers.register_b_transport(this, &cpu_port::b_transport);
  }

 private:
  void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) return payload.set_response_status(tlm::TLM_OK_RESPONSE);
    if (payload.get_byte_enable_ptr() != nullptr) {
      return payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    }
    if (payload.get_data_length() != 4 || payload.get_streaming_width() < 4) {
      return payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    }
    const uint64_t address = payload.get_address();
    if (address % 4 != 0 || address > UINT32_MAX) {
      return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    }
    if (delay != sc_core::SC_ZERO_TIME) wait(delay);
    delay = sc_core::SC_ZERO_TIME;
    one_.lock();
    pins_ = {true, payload.is_write(), payload.is_write() && posted_writes, static_cast<uint32_t>(address), 0};
    if (pins_.write) std::copy_n(payload.get_data_ptr(), 4, reinterpret_cast<uint8_t *>(&pins_.value));
    is_open_ = true;
    wait(over_);
    if (payload.is_read() && !is_lost_) {
      std::copy_n(reinterpret_cast<const uint8_t *>(&value_), 4, payload.get_data_ptr());
    }
    // A reset of the platform is the only thing that loses one.
    payload.set_response_status(is_lost_ ? tlm::TLM_GENERIC_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
    one_.unlock();
  }

  void finish(bool is_lost) {
    if (!is_open_) return;
    is_open_ = pins_.valid = false;
    is_lost_ = is_lost;
    over_.notify(sc_core::SC_ZERO_TIME);
  }

  vp_status sample() override {
    const vp_status status = vp_register_initiator_sample(link_.handle(), registers_port_, &pins_);
    return status == VP_STATUS_OK ? vp_line_sink_sample(link_.handle(), line_port_) : status;
  }

  vp_status see() override {
    vp_register_target_pins seen;
    bool level = false;
    vp_status status = vp_register_initiator_seen(link_.handle(), registers_port_, &seen);
    if (status == VP_STATUS_OK) status = vp_line_sink_seen(link_.handle(), line_port_, &level);
    if (status != VP_STATUS_OK) return status;
    interrupt.write(level);
    if (vp_in_reset(link_.handle(), registers_port_)) {
      finish(true);
      return VP_STATUS_OK;
    }
    if (pins_.valid && seen.ready) {
      pins_.valid = false;
      if (pins_.posted) finish(false);
    }
    if (seen.read_valid || seen.write_complete) {
      value_ = seen.value;
      finish(false);
    }
    return VP_STATUS_OK;
  }

  partner &link_;
  int32_t registers_port_, line_port_;
  vp_register_initiator_pins pins_ = {};
  bool is_open_ = false, is_lost_ = false;
  uint32_t value_ = 0;
  sc_core::sc_mutex one_;
  sc_core::sc_event over_;
};

}  // namespace vp

#endif  // VP_SYSTEMC_CPU_PORT_H
