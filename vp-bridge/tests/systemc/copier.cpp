// A device in SystemC that copies bytes: registers 0x0 source, 0x4 target, 0x8 length, and 0xc, of which bit 0 starts a copy when
// written, reads 1 once it is over, and holds the line high until 0 is written; 0x10 has no register behind it.
//
//   copier DELAY [waits]    of register accesses, in cycles, which they annotate, or wait

#include <cstdlib>
#include <vector>

#include "vp_systemc.h"

class Copier : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Copier> registers{"registers"};
  tlm_utils::simple_initiator_socket<Copier> memory{"memory"};
  sc_core::sc_out<bool> interrupt{"interrupt"};
  sc_core::sc_in<bool> reset{"reset"};

  Copier(const sc_core::sc_module_name &name, sc_core::sc_time delay, bool waits)
      : sc_module(name), delay_(delay), waits_(waits) {
    registers.register_b_transport(this, &Copier::b_transport);
    SC_HAS_PROCESS(Copier);
    SC_THREAD(copy);
    SC_METHOD(put_back);
    sensitive << reset.pos();
    dont_initialize();
    SC_METHOD(drive);
    sensitive << changed_;
  }

 private:
  void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    const uint64_t index = payload.get_address() / 4;
    if (index >= 4) return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    auto *word = reinterpret_cast<uint32_t *>(payload.get_data_ptr());
    if (waits_) {
      wait(delay_);
    } else {
      delay += delay_;
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    if (payload.is_read()) {
      *word = index == 3 ? is_done_ : values_[index];
    } else if (index < 3) {
      values_[index] = *word;
    } else {
      is_done_ = false;
      changed_.notify();
      if (*word & 1) started_.notify();
    }
  }

  void copy() {
    for (;;) {
      wait(started_);
      std::vector<uint8_t> bytes(values_[2]);
      // A reset fails what is under way.
      is_done_ = access(tlm::TLM_READ_COMMAND, values_[0], bytes) && access(tlm::TLM_WRITE_COMMAND, values_[1], bytes);
      changed_.notify();
    }
  }

  bool access(tlm::tlm_command command, uint64_t address, std::vector<uint8_t> &bytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    payload.set_streaming_width(static_cast<unsigned>(bytes.size()));
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    memory->b_transport(payload, delay);
    return payload.is_response_ok();
  }

  void put_back() {
    for (uint32_t &value : values_) value = 0;
    is_done_ = false;
    changed_.notify();
  }

  void drive() { interrupt.write(is_done_); }

  sc_core::sc_time delay_;
  bool waits_;
  uint32_t values_[3] = {};
  bool is_done_ = false;
  sc_core::sc_event started_, changed_;
};

int sc_main(int count, char *arguments[]) {
  vp::partner platform("platform");
  vp::device_port device("device", platform);
  vp::dma_port<> dma("dma", platform, "dbb0", 4);
  Copier copier("copier", std::atoi(arguments[1]) * platform.period(), count > 2);
  sc_core::sc_signal<bool> line("line"), reset("reset");
  device.registers.bind(copier.registers);
  copier.memory.bind(dma.memory);
  copier.interrupt.bind(line);
  device.interrupt.bind(line);
  device.reset.bind(reset);
  copier.reset.bind(reset);
  sc_core::sc_start();
  return 0;
}
