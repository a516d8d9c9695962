// What ports need for their calls of transport functions.

#ifndef VP_SYSTEMC_TRANSPORT_H
#define VP_SYSTEMC_TRANSPORT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <systemc>
#include <tlm>

namespace vp {

namespace detail {

// SC_THREADs for calls that may wait: as many as there have been such calls at once.
class threads {
 public:
  void run(std::function<void()> call) {
    if (idle_.empty()) {
      all_.push_back(std::make_unique<thread>());
      thread *added = all_.back().get();
      added->call = std::move(call);
      sc_core::sc_spawn([this, added] { serve(*added); });
    } else {
      thread *next = idle_.back();
      idle_.pop_back();
      next->call = std::move(call);
      next->wanted.notify();
    }
  }

 private:
  struct thread {
    std::function<void()> call;
    sc_core::sc_event wanted;
  };

  void serve(thread &self) {
    for (;;) {
      self.call();
      idle_.push_back(&self);
      sc_core::wait(self.wanted);
    }
  }

  std::vector<std::unique_ptr<thread>> all_;
  std::vector<thread *> idle_;
};

// Fills in a payload without extensions.
inline void fill(tlm::tlm_generic_payload &payload, bool write, uint64_t address, uint8_t *bytes, size_t length) {
  payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(address);
  payload.set_data_ptr(bytes);
  payload.set_data_length(static_cast<unsigned>(length));
  payload.set_streaming_width(static_cast<unsigned>(length));
  payload.set_byte_enable_ptr(nullptr);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
}

}  // namespace detail

}  // namespace vp

#endif  // VP_SYSTEMC_TRANSPORT_H
