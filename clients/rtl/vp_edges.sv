// When a port takes its pins and drives them: `sample` and `see` toggle between a falling edge of the clock and the rising edge
// that counts. All ports of a simulation do each step before any does the next, for nonblocking assignments part the steps.
module vp_edges (
  input  logic clk,
  output bit   sample,
  output bit   see
);
  import vp_pkg::*;

  bit is_same_edge;
  // verilator lint_off SYNCASYNCNET
  bit first, second, third;
  // verilator lint_on SYNCASYNCNET

  always @(negedge clk)
    if (vp_dpi_is_running()) begin
      is_same_edge <= vp_dpi_is_same_edge();
      first <= !first;
    end

  always @(first) second <= first;
  // What depends on the pins that were driven in the first step settles in the second.
  always @(second) third <= second;

  assign sample = is_same_edge ? third : first;
  assign see = is_same_edge ? first : second;
endmodule
