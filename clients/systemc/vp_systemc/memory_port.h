// A memory in SystemC behind a port of the platform.

#ifndef VP_SYSTEMC_MEMORY_PORT_H
#define VP_SYSTEMC_MEMORY_PORT_H

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>

#include "partner.h"
#include "transport.h"

namespace vp {

// The memory behind a port of the platform, such as dbb0, is whatever is bound to `memory`.
//
// A burst is one generic payload, handed over at the edge that takes its address, or its last data. Each is a b_transport in an SC_THREAD of its
// own, so that several are open at once. The first data of a read is on the pins, and so is the response of a write, when b_transport has returned and the delay that it
// annotates is over: at the first edge that is not earlier, at least one edge after the burst. Data is a beat an edge. Bursts with the same id
// stay in order; of several ids the one that is ready first comes first. Loaders and debuggers come as transport_dbg.
template <unsigned BUSWIDTH = 32>
class memory_port : public sc_core::sc_module, private clocked {
 public:
  tlm_utils::simple_initiator_socket<memory_port, BUSWIDTH> memory{"memory"};

  memory_port(const sc_core::sc_module_name &name, partner &link, const char *port = "dbb0")
      : sc_module(name), link_(link), port_(link.take(this, vp_axi_subordinate(link.handle(), port))) {
    width_ = vp_width(link_.handle(), port_);
    const vp_debug_target target = {this, debug_read, debug_write};
    link_.check(vp_memory_debug_target(link_.handle(), port_, &target));
    clear();
  }

 private:
  struct burst {
    bool write = false;
    uint16_t id = 0;
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
    // As the payload has them; empty: all bytes.
    std::vector<uint8_t> enables;
    // Bytes that were on W or R.
    size_t moved = 0;
    bool is_done = false;
    bool is_error = false;
    // The first edge at which the answer may be on the pins.
    uint64_t due = 0;
  };
  using bursts = std::deque<std::shared_ptr<burst>>;
  using by_id = std::map<uint16_t, bursts>;

  void clear() {
    pins_ = {};
    pins_.ar_ready = pins_.aw_ready = pins_.w_ready = true;
    incoming_.clear();
    reads_.clear();
    writes_.clear();
    sending_.reset();
  }

  vp_status sample() override {
    if (!pins_.r.valid) {
      if (!sending_) sending_ = take_due(reads_);
      if (sending_) drive_data();
    }
    if (!pins_.b.valid) {
      if (const auto done = take_due(writes_)) pins_.b = {true, done->is_error, done->id};
    }
    return vp_axi_subordinate_sample(link_.handle(), port_, &pins_);
  }

  vp_status see() override {
    vp_axi_manager_pins seen;
    const vp_status status = vp_axi_subordinate_seen(link_.handle(), port_, &seen);
    if (status != VP_STATUS_OK) return status;
    if (vp_in_reset(link_.handle(), port_)) {
      clear();
      return VP_STATUS_OK;
    }
    if (seen.r_ready) pins_.r.valid = false;
    if (seen.b_ready) pins_.b.valid = false;
    if (seen.ar.valid) start(reads_, open(false, seen.ar));
    if (seen.aw.valid) incoming_.push_back(open(true, seen.aw));
    if (seen.w.valid) take_data(seen.w);
    return VP_STATUS_OK;
  }

  std::shared_ptr<burst> open(bool write, const vp_address &address) const {
    auto opened = std::make_shared<burst>();
    opened->write = write;
    opened->id = address.id;
    // Bursts are of whole beats; the strobes say which bytes are meant.
    opened->address = address.address & ~static_cast<uint64_t>(width_ - 1);
    opened->bytes.resize(static_cast<size_t>(address.beats) * width_);
    return opened;
  }

  void take_data(const vp_write_data &beat) {
    if (incoming_.empty()) return SC_REPORT_ERROR(report_type, "write data without an address");
    const auto burst = incoming_.front();
    const uint64_t all = ~uint64_t{0} >> (64 - width_);
    if (burst->enables.empty() && (beat.strobes & all) != all) burst->enables.assign(burst->bytes.size(), TLM_BYTE_ENABLED);
    for (unsigned lane = 0; lane < width_; ++lane, ++burst->moved) {
      burst->bytes[burst->moved] = beat.data[lane];
      if (!(beat.strobes >> lane & 1)) burst->enables[burst->moved] = TLM_BYTE_DISABLED;
    }
    if (burst->moved < burst->bytes.size()) return;
    incoming_.pop_front();
    start(writes_, burst);
  }

  void start(by_id &open, const std::shared_ptr<burst> &begun) {
    open[begun->id].push_back(begun);
    threads_.run([this, begun] { transport(*begun); });
  }

  void transport(burst &burst) {
    tlm::tlm_generic_payload payload;
    detail::fill(payload, burst.write, burst.address, burst.bytes.data(), burst.bytes.size());
    if (!burst.enables.empty()) {
      payload.set_byte_enable_ptr(burst.enables.data());
      payload.set_byte_enable_length(static_cast<unsigned>(burst.enables.size()));
    }
    const uint64_t first = link_.edge() + 1;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    memory->b_transport(payload, delay);
    burst.due = std::max(first, link_.edge_at(sc_core::sc_time_stamp() + delay));
    burst.is_error = payload.is_response_error();
    burst.is_done = true;
  }

  // The burst whose answer is the next, if one is due: of each id the oldest may be.
  std::shared_ptr<burst> take_due(by_id &open) {
    auto next = open.end();
    for (auto it = open.begin(); it != open.end(); ++it) {
      const burst &oldest = *it->second.front();
      if (oldest.is_done && oldest.due <= link_.edge() &&
          (next == open.end() || oldest.due < next->second.front()->due)) {
        next = it;
      }
    }
    if (next == open.end()) return nullptr;
    const auto taken = next->second.front();
    next->second.pop_front();
    if (next->second.empty()) open.erase(next);
    return taken;
  }

  void drive_data() {
    pins_.r.valid = true;
    pins_.r.id = sending_->id;
    pins_.r.error = sending_->is_error;
    std::copy_n(sending_->bytes.data() + sending_->moved, width_, pins_.r.data);
    sending_->moved += width_;
    pins_.r.last = sending_->moved == sending_->bytes.size();
    if (pins_.r.last) sending_.reset();
  }

  static size_t debug(void *self, bool write, uint64_t address, uint8_t *bytes, size_t length) {
    if (length == 0) return 0;
    tlm::tlm_generic_payload payload;
    detail::fill(payload, write, address, bytes, length);
    return static_cast<memory_port *>(self)->memory->transport_dbg(payload);
  }

  static size_t debug_read(void *self, uint64_t address, uint8_t *bytes, size_t length) {
    return debug(self, false, address, bytes, length);
  }

  static size_t debug_write(void *self, uint64_t address, const uint8_t *bytes, size_t length) {
    return debug(self, true, address, const_cast<uint8_t *>(bytes), length);
  }

  partner &link_;
  int32_t port_;
  unsigned width_ = 0;
  vp_axi_subordinate_pins pins_;
  // Writes whose data is not complete.
  bursts incoming_;
  by_id reads_, writes_;
  // The read whose data is on the pins.
  std::shared_ptr<burst> sending_;
  detail::threads threads_;
};

}  // namespace vp

#endif  // VP_SYSTEMC_MEMORY_PORT_H
