// nv_small as a module of a SystemC platform: a CPU in SystemC has it copy a cube, by 1 x 1 max pooling, in a memory in SystemC.
//
//   systemc-platform [LATENCY [ADDRESS]]    of reads, in cycles; of the platform, such as unix:/tmp/vp.sock

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "../systemc-memory/memory.h"
#include "vp_systemc.h"

// The layer.
constexpr uint32_t width = 8, height = 8, channels = 16, line = 8 * width, surface = line * height;
constexpr uint32_t source = 0x80000000, target = 0x80080000, size = width * height * channels;

struct Write {
  uint32_t address, value;
};

constexpr Write layer[] = {
    {0xb004, 0},             // PDP.S_POINTER
    {0xa004, 0},             // PDP_RDMA.S_POINTER
    {0xb00c, width - 1},     // PDP.D_DATA_CUBE_IN_WIDTH
    {0xb010, height - 1},    // PDP.D_DATA_CUBE_IN_HEIGHT
    {0xb014, channels - 1},  // PDP.D_DATA_CUBE_IN_CHANNEL
    {0xb018, width - 1},     // PDP.D_DATA_CUBE_OUT_WIDTH
    {0xb01c, height - 1},    // PDP.D_DATA_CUBE_OUT_HEIGHT
    {0xb020, channels - 1},  // PDP.D_DATA_CUBE_OUT_CHANNEL
    {0xb024, 0x11},          // PDP.D_OPERATION_MODE_CFG
    {0xb034, 0},             // PDP.D_POOLING_KERNEL_CFG
    {0xb02c, width - 1},     // PDP.D_PARTIAL_WIDTH_IN
    {0xb030, width - 1},     // PDP.D_PARTIAL_WIDTH_OUT
    {0xb068, line},          // PDP.D_SRC_LINE_STRIDE
    {0xb06c, surface},       // PDP.D_SRC_SURFACE_STRIDE
    {0xb060, source},        // PDP.D_SRC_BASE_ADDR_LOW
    {0xb070, target},        // PDP.D_DST_BASE_ADDR_LOW
    {0xb078, line},          // PDP.D_DST_LINE_STRIDE
    {0xb07c, surface},       // PDP.D_DST_SURFACE_STRIDE
    {0xb080, 1},             // PDP.D_DST_RAM_CFG
    {0xb084, 0},             // PDP.D_DATA_FORMAT
    {0xa00c, width - 1},     // PDP_RDMA.D_DATA_CUBE_IN_WIDTH
    {0xa010, height - 1},    // PDP_RDMA.D_DATA_CUBE_IN_HEIGHT
    {0xa014, channels - 1},  // PDP_RDMA.D_DATA_CUBE_IN_CHANNEL
    {0xa018, 1},             // PDP_RDMA.D_FLYING_MODE
    {0xa01c, source},        // PDP_RDMA.D_SRC_BASE_ADDR_LOW
    {0xa024, line},          // PDP_RDMA.D_SRC_LINE_STRIDE
    {0xa028, surface},       // PDP_RDMA.D_SRC_SURFACE_STRIDE
    {0xa02c, 1},             // PDP_RDMA.D_SRC_RAM_CFG
    {0xa030, 0},             // PDP_RDMA.D_DATA_FORMAT
    {0xa038, 0},             // PDP_RDMA.D_POOLING_KERNEL_CFG
    {0xa040, width - 1},     // PDP_RDMA.D_PARTIAL_WIDTH_IN
    {0xb008, 1},             // PDP.D_OP_ENABLE
    {0xa008, 1},             // PDP_RDMA.D_OP_ENABLE
};
constexpr uint32_t interrupt_status = 0x100c;  // GLB.S_INTR_STATUS
constexpr uint32_t pdp_done = 1 << 4;

class Cpu : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Cpu> bus{"bus"};
  tlm_utils::simple_initiator_socket<Cpu> memory{"memory"};
  sc_core::sc_in<bool> interrupt{"interrupt"};
  bool is_right = false;

  explicit Cpu(const sc_core::sc_module_name &name) : sc_module(name) {
    SC_HAS_PROCESS(Cpu);
    SC_THREAD(run);
  }

 private:
  void run() {
    uint8_t input[size], output[size];
    for (uint32_t at = 0; at < size; ++at) input[at] = static_cast<uint8_t>(at * 2654435761u >> 24);
    access(tlm::TLM_WRITE_COMMAND, memory, source, input, size);
    for (Write write : layer) access(tlm::TLM_WRITE_COMMAND, bus, write.address, &write.value, 4);
    if (!interrupt.read()) wait(interrupt.posedge_event());
    uint32_t status = 0;
    access(tlm::TLM_READ_COMMAND, bus, interrupt_status, &status, 4);
    access(tlm::TLM_WRITE_COMMAND, bus, interrupt_status, &status, 4);
    access(tlm::TLM_READ_COMMAND, memory, target, output, size);
    is_right = (status & pdp_done) != 0 && std::memcmp(input, output, size) == 0;
    sc_core::sc_stop();
  }

  void access(tlm::tlm_command command, tlm_utils::simple_initiator_socket<Cpu> &socket, uint64_t address, void *bytes,
              unsigned length) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<uint8_t *>(bytes));
    payload.set_data_length(length);
    payload.set_streaming_width(length);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->b_transport(payload, delay);
    if (payload.is_response_error()) SC_REPORT_ERROR("cpu", payload.get_response_string().c_str());
  }
};

int sc_main(int count, char *arguments[]) {
  const int latency = count > 1 ? std::atoi(arguments[1]) : 50;
  const char *address = count > 2 ? arguments[2] : "inproc:nv_small";
  vp::platform<> nvdla("nvdla", address);
  const sc_core::sc_time period = nvdla.partner.period();
  Memory memory("memory", latency * period, period);
  Cpu cpu("cpu");
  sc_core::sc_signal<bool> line_to_cpu("line");
  cpu.bus.bind(nvdla.registers);
  cpu.memory.bind(memory.socket);
  nvdla.memory().bind(memory.socket);
  nvdla.interrupt.bind(line_to_cpu);
  cpu.interrupt.bind(line_to_cpu);
  sc_core::sc_start();
  if (!cpu.is_right) {
    std::cerr << "the copy is not right\n";
    return 1;
  }
  std::cout << "nvdla.cycles " << nvdla.partner.counter("nvdla.cycles") << "\n";
  return 0;
}
