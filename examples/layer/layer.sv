// The layer that examples/layer/convert has made from a trace, as its command line says it, and the simulation's end: the result's CRC-32
// is held to the trace's.
//
//   +layer=FOLDER  where it is, and what is in its file `check`
module layer (
  input  logic        clk,
  output int          words,
  output logic [31:0] result,
  output int          size,
  // The layer is over, and its result has this CRC.
  input  logic        checked,
  input  logic [31:0] crc
);
  import vp_pkg::*;

  bit [31:0] expected;
  string folder;
  initial
    if ($value$plusargs("layer=%s", folder) == 0 || $value$plusargs("words=%d", words) == 0
        || $value$plusargs("result=%h", result) == 0 || $value$plusargs("size=%d", size) == 0
        || $value$plusargs("crc=%h", expected) == 0)
      vp_dpi_fail("write +layer=FOLDER and what is in the file `check` there");

  int edges;
  always @(posedge clk) begin
    edges <= edges + 1;
    if (checked && crc == expected) begin
      $display("%0d cycles from the first enable to the last interrupt, of %0d edges", vp_dpi_counter("nvdla.cycles"),
        edges);
      $display("CRC %h of %0d bytes at %h", crc, size, result);
      $finish(0);
    end else if (checked)
      vp_dpi_fail($sformatf("the CRC of %0d bytes at %h is %h, and of the trace %h", size, result, crc, expected));
  end
endmodule
