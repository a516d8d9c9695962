// A memory in SystemC behind dbb0: `vp run TRACE --memory-command "dbb0=./systemc-memory 50"`, where 50 is the latency of reads in
// cycles.

#include <cstdlib>

#include "memory.h"
#include "vp_systemc.h"

int sc_main(int count, char *arguments[]) {
  const unsigned latency = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 50;
  vp::partner platform("platform");
  vp::memory_port<> port("port", platform, "dbb0");
  Memory memory("memory", latency * platform.period(), platform.period());
  port.memory.bind(memory.socket);
  sc_core::sc_start();
  return 0;
}
