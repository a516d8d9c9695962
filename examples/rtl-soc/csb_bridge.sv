// From the CPU's bus to NVDLA's CSB. Writes are posted; one access at a time.
module csb_bridge (
  input  logic        clk,
  input  logic        rst_n,

  input  logic        bus_valid,
  input  logic        bus_write,
  input  logic [17:0] bus_addr,
  input  logic [31:0] bus_wdata,
  output logic        bus_done,
  output logic [31:0] bus_rdata,

  output logic        csb2nvdla_valid,
  input  logic        csb2nvdla_ready,
  output logic [15:0] csb2nvdla_addr,
  output logic [31:0] csb2nvdla_wdat,
  output logic        csb2nvdla_write,
  output logic        csb2nvdla_nposted,
  input  logic        nvdla2csb_valid,
  input  logic [31:0] nvdla2csb_data
);
  // A read is on its way.
  logic is_read;

  assign csb2nvdla_valid = bus_valid && !is_read;
  assign csb2nvdla_addr = bus_addr[17:2];
  assign csb2nvdla_wdat = bus_wdata;
  assign csb2nvdla_write = bus_write;
  assign csb2nvdla_nposted = 0;
  assign bus_done = bus_write ? csb2nvdla_valid && csb2nvdla_ready : is_read && nvdla2csb_valid;
  assign bus_rdata = nvdla2csb_data;

  always @(posedge clk)
    if (!rst_n || nvdla2csb_valid) is_read <= 0;
    else if (csb2nvdla_valid && csb2nvdla_ready && !bus_write) is_read <= 1;
endmodule
