// An interrupt controller. Words: 0 the lines that count, 1 those of them that are high.
module interrupts #(
  parameter int LINES = 1
) (
  input  logic             clk,
  input  logic             rst_n,
  input  logic [LINES-1:0] lines,
  output logic             irq,

  input  logic             bus_valid,
  input  logic             bus_write,
  input  logic [2:0]       bus_addr,
  input  logic [31:0]      bus_wdata,
  output logic             bus_done,
  output logic [31:0]      bus_rdata
);
  logic [LINES-1:0] enabled, pending;
  assign pending = enabled & lines;

  assign bus_done = bus_valid;
  assign bus_rdata = bus_addr[2] ? 32'(pending) : 32'(enabled);

  always @(posedge clk) begin
    irq <= |pending;
    if (bus_valid && bus_write && !bus_addr[2]) enabled <= bus_wdata[LINES-1:0];
    if (!rst_n) begin
      irq <= 0;
      enabled <= 0;
    end
  end
endmodule
