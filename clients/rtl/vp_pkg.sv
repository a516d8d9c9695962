// What the blocks call of vp_dpi.c: by DPI, or in Icarus Verilog by the system tasks of vp_vpi.c. One partner a simulation.
package vp_pkg;
  // Bits of the widest data bus.
  localparam int WIDEST = 512;

  // What the design is at a port.
  typedef enum int {
    AXI_SUBORDINATE = 0,
    AXI_MANAGER = 1,
    REGISTER_TARGET = 2,
    REGISTER_INITIATOR = 3,
    LINE_SOURCE = 4,
    LINE_SINK = 5
  } port_kind_e;

  // How the partner is.
  localparam int OVER = 1;
  localparam int FAILED = -1;

`ifndef __ICARUS__
  import "DPI-C" function int vp_dpi_port(
    input int kind, input string name, input int data_width, input int address_width, input int id_width);
  import "DPI-C" function void vp_dpi_start(
    input string address, input bit same_edge, input int quantum, input int reset_edges);
  import "DPI-C" function bit vp_dpi_is_running();
  import "DPI-C" function bit vp_dpi_is_same_edge();
  import "DPI-C" function int vp_dpi_status();
  import "DPI-C" function string vp_dpi_error();
  import "DPI-C" function bit vp_dpi_in_reset();
  import "DPI-C" function void vp_dpi_close();
  import "DPI-C" function void vp_dpi_exit();
  // Ends the simulation with this sentence.
  import "DPI-C" function void vp_dpi_fail(input string what);
  // Pins of a channel are X or Z where they count.
  import "DPI-C" function void vp_dpi_unknown(input int port, input string channel, input string pins);

  // The platform's time at the edge that was seen last, in ps, and one of its counters, such as "nvdla.cycles".
  import "DPI-C" function longint vp_dpi_time();
  import "DPI-C" function longint vp_dpi_counter(input string name);

  // The bytes of the memory behind a port that the design is, which loaders of the platform reach too.
  import "DPI-C" function void vp_dpi_memory_read(
    input int port, input longint address, input int bytes, output bit [WIDEST-1:0] data);
  import "DPI-C" function void vp_dpi_memory_write(
    input int port, input longint address, input int bytes, input bit [WIDEST-1:0] data, input longint strobes);

  import "DPI-C" function void vp_dpi_axi_subordinate_sample(
    input int port, input bit arready, input bit awready, input bit wready,
    input bit rvalid, input int rid, input bit [WIDEST-1:0] rdata, input bit rlast, input bit rerror,
    input bit bvalid, input int bid, input bit berror);
  import "DPI-C" function void vp_dpi_axi_subordinate_seen(
    input int port,
    output bit arvalid, output int arid, output longint araddr, output int arlen,
    output bit awvalid, output int awid, output longint awaddr, output int awlen,
    output bit wvalid, output bit [WIDEST-1:0] wdata, output longint wstrb, output bit wlast,
    output bit rready, output bit bready);
  import "DPI-C" function void vp_dpi_axi_manager_sample(
    input int port,
    input bit arvalid, input int arid, input longint araddr, input int arlen, input int arsize, input int arburst,
    input bit awvalid, input int awid, input longint awaddr, input int awlen, input int awsize, input int awburst,
    input bit wvalid, input bit [WIDEST-1:0] wdata, input longint wstrb, input bit wlast,
    input bit rready, input bit bready);
  import "DPI-C" function void vp_dpi_axi_manager_seen(
    input int port, output bit arready, output bit awready, output bit wready,
    output bit rvalid, output int rid, output bit [WIDEST-1:0] rdata, output bit rlast, output bit rerror,
    output bit bvalid, output int bid, output bit berror);

  // Addresses of registers are byte addresses.
  import "DPI-C" function void vp_dpi_register_target_sample(
    input int port, input bit ready, input bit read_valid, input int value, input bit write_complete);
  import "DPI-C" function void vp_dpi_register_target_seen(
    input int port, output bit valid, output int address, output int value, output bit write, output bit posted);
  import "DPI-C" function void vp_dpi_register_initiator_sample(
    input int port, input bit valid, input int address, input int value, input bit write, input bit posted);
  import "DPI-C" function void vp_dpi_register_initiator_seen(
    input int port, output bit ready, output bit read_valid, output int value, output bit write_complete);

  import "DPI-C" function void vp_dpi_line_source_sample(input int port, input bit level);
  import "DPI-C" function void vp_dpi_line_source_seen(input int port);
  import "DPI-C" function void vp_dpi_line_sink_sample(input int port);
  import "DPI-C" function bit vp_dpi_line_sink_seen(input int port);
`else
  // Tasks where DPI has functions: functions have no outputs in Icarus Verilog 11.
  function int vp_dpi_port(
    input int kind, input string name, input int data_width, input int address_width, input int id_width);
    int result;
    $vp_port(kind, name, data_width, address_width, id_width, result);
    vp_dpi_port = result;
  endfunction
  task vp_dpi_start(
    input string address, input bit same_edge, input int quantum, input int reset_edges);
    $vp_start(address, same_edge, quantum, reset_edges);
  endtask
  function bit vp_dpi_is_running();
    bit result;
    $vp_is_running(result);
    vp_dpi_is_running = result;
  endfunction
  function bit vp_dpi_is_same_edge();
    bit result;
    $vp_is_same_edge(result);
    vp_dpi_is_same_edge = result;
  endfunction
  function int vp_dpi_status();
    int result;
    $vp_status(result);
    vp_dpi_status = result;
  endfunction
  function bit vp_dpi_in_reset();
    bit result;
    $vp_in_reset(result);
    vp_dpi_in_reset = result;
  endfunction
  task vp_dpi_exit;
    $vp_exit;
  endtask
  task vp_dpi_fail(input string what);
    $vp_fail(what);
  endtask
  task vp_dpi_unknown(input int port, input string channel, input string pins);
    $vp_unknown(port, channel, pins);
  endtask
  function longint vp_dpi_time();
    longint result;
    $vp_time(result);
    vp_dpi_time = result;
  endfunction
  function longint vp_dpi_counter(input string name);
    longint result;
    $vp_counter(name, result);
    vp_dpi_counter = result;
  endfunction
  task vp_dpi_memory_read(
    input int port, input longint address, input int bytes, output bit [WIDEST-1:0] data);
    $vp_memory_read(port, address, bytes, data);
  endtask
  task vp_dpi_memory_write(
    input int port, input longint address, input int bytes, input bit [WIDEST-1:0] data, input longint strobes);
    $vp_memory_write(port, address, bytes, data, strobes);
  endtask
  task vp_dpi_axi_subordinate_sample(
    input int port, input bit arready, input bit awready, input bit wready,
    input bit rvalid, input int rid, input bit [WIDEST-1:0] rdata, input bit rlast, input bit rerror,
    input bit bvalid, input int bid, input bit berror);
    $vp_axi_subordinate_sample(port, arready, awready, wready, rvalid, rid, rdata, rlast, rerror, bvalid, bid,
      berror);
  endtask
  task vp_dpi_axi_subordinate_seen(
    input int port,
    output bit arvalid, output int arid, output longint araddr, output int arlen,
    output bit awvalid, output int awid, output longint awaddr, output int awlen,
    output bit wvalid, output bit [WIDEST-1:0] wdata, output longint wstrb, output bit wlast,
    output bit rready, output bit bready);
    $vp_axi_subordinate_seen(port, arvalid, arid, araddr, arlen, awvalid, awid, awaddr, awlen, wvalid, wdata, wstrb,
      wlast, rready, bready);
  endtask
  task vp_dpi_axi_manager_sample(
    input int port,
    input bit arvalid, input int arid, input longint araddr, input int arlen, input int arsize, input int arburst,
    input bit awvalid, input int awid, input longint awaddr, input int awlen, input int awsize, input int awburst,
    input bit wvalid, input bit [WIDEST-1:0] wdata, input longint wstrb, input bit wlast,
    input bit rready, input bit bready);
    $vp_axi_manager_sample(port, arvalid, arid, araddr, arlen, arsize, arburst, awvalid, awid, awaddr, awlen,
      awsize, awburst, wvalid, wdata, wstrb, wlast, rready, bready);
  endtask
  task vp_dpi_axi_manager_seen(
    input int port, output bit arready, output bit awready, output bit wready,
    output bit rvalid, output int rid, output bit [WIDEST-1:0] rdata, output bit rlast, output bit rerror,
    output bit bvalid, output int bid, output bit berror);
    $vp_axi_manager_seen(port, arready, awready, wready, rvalid, rid, rdata, rlast, rerror, bvalid, bid, berror);
  endtask
  task vp_dpi_register_target_sample(
    input int port, input bit ready, input bit read_valid, input int value, input bit write_complete);
    $vp_register_target_sample(port, ready, read_valid, value, write_complete);
  endtask
  task vp_dpi_register_target_seen(
    input int port, output bit valid, output int address, output int value, output bit write, output bit posted);
    $vp_register_target_seen(port, valid, address, value, write, posted);
  endtask
  task vp_dpi_register_initiator_sample(
    input int port, input bit valid, input int address, input int value, input bit write, input bit posted);
    $vp_register_initiator_sample(port, valid, address, value, write, posted);
  endtask
  task vp_dpi_register_initiator_seen(
    input int port, output bit ready, output bit read_valid, output int value, output bit write_complete);
    $vp_register_initiator_seen(port, ready, read_valid, value, write_complete);
  endtask
  task vp_dpi_line_source_sample(input int port, input bit level);
    $vp_line_source_sample(port, level);
  endtask
  task vp_dpi_line_source_seen(input int port);
    $vp_line_source_seen(port);
  endtask
  task vp_dpi_line_sink_sample(input int port);
    $vp_line_sink_sample(port);
  endtask
  function bit vp_dpi_line_sink_seen(input int port);
    bit result;
    $vp_line_sink_seen(port, result);
    vp_dpi_line_sink_seen = result;
  endfunction
`endif
endpackage
