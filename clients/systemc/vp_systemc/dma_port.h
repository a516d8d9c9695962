// A master in SystemC of the platform's memory.

#ifndef VP_SYSTEMC_DMA_PORT_H
#define VP_SYSTEMC_DMA_PORT_H

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include <tlm>
#include <tlm_utils/simple_target_socket.h>

#include "partner.h"

namespace vp {

// A memory port of the platform for the device on this side: its accesses of `memory` are bursts there.
//
// b_transport takes any address and length, becomes bursts of whole beats within pages of 4 KiB, and returns at the edge that sees
// the last answer. Those of several processes are open at once, each with an id of its own, of 16.
template <unsigned BUSWIDTH = 32>
class dma_port : public sc_core::sc_module, private clocked {
 public:
  tlm_utils::simple_target_socket<dma_port, BUSWIDTH> memory{"memory"};

  // `longest`: beats of its longest burst, as the platform says of the device's interface: 1 to 16.
  dma_port(const sc_core::sc_module_name &name, partner &link, const char *port = "dbb0", unsigned longest = 16)
      : sc_module(name), link_(link), port_(link.take(this, vp_axi_manager(link.handle(), port))),
        longest_(std::clamp(longest, 1u, 16u)) {
    width_ = vp_width(link_.handle(), port_);
    memory.register_b_transport(this, &dma_port::b_transport);
    clear();
  }

 private:
  // A call of b_transport.
  struct transfer {
    tlm::tlm_generic_payload &payload;
    // Bursts whose answer is not there.
    size_t open = 0;
    bool is_error = false;
    sc_core::sc_event over{};

    // Whether the payload has a byte for an address, and means it.
    bool has(uint64_t address) const {
      const uint64_t at = address - payload.get_address();
      const uint8_t *enables = payload.get_byte_enable_ptr();
      return at < payload.get_data_length() &&
             (enables == nullptr || enables[at % payload.get_byte_enable_length()] == TLM_BYTE_ENABLED);
    }

    uint8_t &byte(uint64_t address) { return payload.get_data_ptr()[address - payload.get_address()]; }
  };

  struct burst {
    transfer *of;
    vp_address pins;
    // Beats that were on W or R.
    unsigned moved = 0;
  };
  using bursts = std::deque<burst>;
  using by_id = std::map<uint16_t, bursts>;

  void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    const uint64_t start = payload.get_address(), end = start + payload.get_data_length();
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND || start == end) return;
    if (end < start) return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (payload.get_streaming_width() < end - start) {
      return payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    }
    if (delay != sc_core::SC_ZERO_TIME) wait(delay);
    delay = sc_core::SC_ZERO_TIME;
    transfer begun{payload};
    const auto id = static_cast<uint16_t>(next_id_++ % 16);
    for (uint64_t at = start & ~uint64_t{width_ - 1}; at < end;) {
      const uint64_t stop = std::min({end, at + uint64_t{longest_} * width_, (at | 4095) + 1});
      const auto beats = static_cast<uint16_t>((stop - at + width_ - 1) / width_);
      (payload.is_read() ? reads_ : writes_).push_back({&begun, {true, id, beats, at}});
      at += uint64_t{beats} * width_;
      ++begun.open;
    }
    transfers_.push_back(&begun);
    wait(begun.over);
    transfers_.erase(std::find(transfers_.begin(), transfers_.end(), &begun));
    if (begun.is_error) payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
  }

  void clear() {
    pins_ = {};
    pins_.r_ready = pins_.b_ready = true;
    reads_.clear();
    writes_.clear();
    write_data_.clear();
    open_reads_.clear();
    open_writes_.clear();
    for (transfer *lost : transfers_) {
      lost->is_error = true;
      lost->over.notify(sc_core::SC_ZERO_TIME);
    }
  }

  vp_status sample() override {
    if (!pins_.ar.valid && !reads_.empty()) pins_.ar = drive_address(reads_, open_reads_).pins;
    // The data of a burst is not on W before its address is on AW.
    if (!pins_.aw.valid && !writes_.empty()) {
      write_data_.push_back(drive_address(writes_, open_writes_));
      pins_.aw = write_data_.back().pins;
    }
    if (!pins_.w.valid && !write_data_.empty()) drive_data();
    return vp_axi_manager_sample(link_.handle(), port_, &pins_);
  }

  burst drive_address(bursts &waiting, by_id &open) {
    const burst next = waiting.front();
    waiting.pop_front();
    open[next.pins.id].push_back(next);
    return next;
  }

  void drive_data() {
    burst &front = write_data_.front();
    pins_.w = {};
    pins_.w.valid = true;
    for (unsigned lane = 0; lane < width_; ++lane) {
      const uint64_t address = front.pins.address + uint64_t{front.moved} * width_ + lane;
      if (!front.of->has(address)) continue;
      pins_.w.strobes |= uint64_t{1} << lane;
      pins_.w.data[lane] = front.of->byte(address);
    }
    pins_.w.last = ++front.moved == front.pins.beats;
    if (pins_.w.last) write_data_.pop_front();
  }

  vp_status see() override {
    vp_axi_subordinate_pins seen;
    const vp_status status = vp_axi_manager_seen(link_.handle(), port_, &seen);
    if (status != VP_STATUS_OK) return status;
    if (vp_in_reset(link_.handle(), port_)) {
      clear();
      return VP_STATUS_OK;
    }
    if (seen.ar_ready) pins_.ar.valid = false;
    if (seen.aw_ready) pins_.aw.valid = false;
    if (seen.w_ready) pins_.w.valid = false;
    if (seen.r.valid) take_data(seen.r);
    if (seen.b.valid) finish(open_writes_, seen.b.id, seen.b.error);
    return VP_STATUS_OK;
  }

  void take_data(const vp_read_data &beat) {
    bursts &open = open_reads_[beat.id];
    if (open.empty()) return;
    burst &front = open.front();
    front.of->is_error |= beat.error;
    for (unsigned lane = 0; lane < width_; ++lane) {
      const uint64_t address = front.pins.address + uint64_t{front.moved} * width_ + lane;
      if (front.of->has(address)) front.of->byte(address) = beat.data[lane];
    }
    ++front.moved;
    if (beat.last) finish(open_reads_, beat.id, beat.error);
  }

  void finish(by_id &open, uint16_t id, bool is_error) {
    bursts &of_id = open[id];
    if (of_id.empty()) return;
    transfer &of = *of_id.front().of;
    of_id.pop_front();
    of.is_error |= is_error;
    if (--of.open == 0) of.over.notify(sc_core::SC_ZERO_TIME);
  }

  partner &link_;
  int32_t port_;
  unsigned width_ = 0, longest_;
  vp_axi_manager_pins pins_;
  // Bursts whose address was not on the pins, and those whose write data was not.
  bursts reads_, writes_, write_data_;
  by_id open_reads_, open_writes_;
  std::vector<transfer *> transfers_;
  uint64_t next_id_ = 0;
};

}  // namespace vp

#endif  // VP_SYSTEMC_DMA_PORT_H
