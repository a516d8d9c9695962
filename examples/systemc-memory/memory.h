// A memory in SystemC, as any TLM-2.0 platform may have one.

#ifndef MEMORY_H
#define MEMORY_H

#include <array>
#include <cstdint>
#include <unordered_map>

#include <systemc>
#include <tlm>
#include <tlm_utils/multi_passthrough_target_socket.h>

// A memory of fixed latency, at all addresses. It is filled with zeros.
class Memory : public sc_core::sc_module {
 public:
  // Of any number of initiators.
  tlm_utils::multi_passthrough_target_socket<Memory> socket{"socket"};

  Memory(const sc_core::sc_module_name &name, sc_core::sc_time read_latency, sc_core::sc_time write_latency)
      : sc_module(name), read_latency_(read_latency), write_latency_(write_latency) {
    socket.register_b_transport(this, &Memory::b_transport);
    socket.register_transport_dbg(this, &Memory::transport_dbg);
  }

 private:
  static constexpr uint64_t page_size = 4096;
  using Page = std::array<uint8_t, page_size>;

  void b_transport(int id, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    transport_dbg(id, payload);
    delay += payload.is_read() ? read_latency_ : write_latency_;
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  unsigned transport_dbg(int, tlm::tlm_generic_payload &payload) {
    uint8_t *data = payload.get_data_ptr();
    const uint8_t *enables = payload.get_byte_enable_ptr();
    for (unsigned at = 0; at < payload.get_data_length(); ++at) {
      if (enables != nullptr && enables[at % payload.get_byte_enable_length()] == TLM_BYTE_DISABLED) continue;
      const uint64_t address = payload.get_address() + at;
      uint8_t &byte = pages_[address / page_size][address % page_size];
      if (payload.is_read()) {
        data[at] = byte;
      } else {
        byte = data[at];
      }
    }
    return payload.get_data_length();
  }

  sc_core::sc_time read_latency_, write_latency_;
  std::unordered_map<uint64_t, Page> pages_;
};

#endif  // MEMORY_H
