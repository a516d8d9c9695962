// A platform as a module of a SystemC platform.

#ifndef VP_SYSTEMC_PLATFORM_H
#define VP_SYSTEMC_PLATFORM_H

#include <string>
#include <vector>

#include "cpu_port.h"
#include "memory_port.h"

namespace vp {

// A platform of which this side is the CPU and the memories: the model as a module of a SystemC platform.
template <unsigned BUSWIDTH = 32>
class platform : public sc_core::sc_module {
 public:
  vp::partner partner;

 private:
  // Before the references to what is in them.
  cpu_port cpu_;
  sc_core::sc_vector<memory_port<BUSWIDTH>> memories_;

 public:
  tlm_utils::simple_target_socket<cpu_port> &registers = cpu_.registers;
  sc_core::sc_out<bool> &interrupt = cpu_.interrupt;

  // `memories`: those of its memory ports that this side is; the others' memories are inside.
  explicit platform(const sc_core::sc_module_name &name, const char *address = "inproc:nv_small",
                    const std::vector<std::string> &memories = {"dbb0"})
      : sc_module(name), partner("partner", address), cpu_("cpu", partner), memories_("memory") {
    memories_.init(memories.size(), [&](const char *module, size_t index) {
      return new memory_port<BUSWIDTH>(module, partner, memories[index].c_str());
    });
  }

  // The socket of a memory port, in the order in which they were named.
  tlm_utils::simple_initiator_socket<memory_port<BUSWIDTH>, BUSWIDTH> &memory(size_t index = 0) {
    return memories_.at(index).memory;
  }

  cpu_port &cpu() { return cpu_; }
};

}  // namespace vp

#endif  // VP_SYSTEMC_PLATFORM_H
