// Moves bytes between an image and a memory at an AXI port, a beat of 64 bits an edge: first the image there, and at the end the result
// back, of which it says the CRC-32.
module mover #(
  parameter bit [31:0] BASE = 32'h8000_0000,
  // Of the image; a power of 2.
  parameter int WORDS = 1 << 16
) (
  input  logic        clk,
  input  logic        rst_n,
  // Words of the image that are loaded.
  input  int          words,
  output logic        loaded,
  // The result is there: where, how many bytes, and their CRC once it is checked.
  input  logic        go,
  input  logic [31:0] result,
  input  int          size,
  output logic        checked,
  output logic [31:0] crc,

  output logic        awvalid,
  input  logic        awready,
  output logic [31:0] awaddr,
  output logic        wvalid,
  input  logic        wready,
  output logic [63:0] wdata,
  input  logic        bvalid,
  output logic        arvalid,
  input  logic        arready,
  output logic [31:0] araddr,
  input  logic        rvalid,
  input  logic [63:0] rdata
);
  localparam int INDEX = $clog2(WORDS);

  logic [63:0] image[WORDS];
  // Words whose address is sent, whose data is, and which are written.
  int addressed, sent, written;

  assign awvalid = rst_n && addressed != words;
  assign awaddr = BASE + 8 * addressed;
  // Data do not come before their address.
  assign wvalid = rst_n && sent != addressed;
  assign wdata = image[sent[INDEX-1:0]];
  assign loaded = rst_n && written == words;

  // Words of the result that are asked for, and bytes that have come.
  int asked, bytes;
  logic [31:0] sum;
  assign arvalid = go && 8 * asked < size;
  assign araddr = result + 8 * asked;
  assign crc = ~sum;
  assign checked = go && bytes >= size;

  always @(posedge clk) begin
    if (awvalid && awready) addressed <= addressed + 1;
    if (wvalid && wready) sent <= sent + 1;
    if (bvalid) written <= written + 1;
    if (arvalid && arready) asked <= asked + 1;
    if (rvalid) begin
      sum <= with_word(sum, rdata, size - bytes);
      bytes <= bytes + 8;
    end
    if (!rst_n) begin
      {addressed, sent, written, asked, bytes} <= 0;
      sum <= crc32_pkg::BEGIN;
    end
  end

  function automatic bit [31:0] with_word(input bit [31:0] begun, input bit [63:0] word, input int left);
    with_word = begun;
    for (int i = 0; i < 8 && i < left; i++) with_word = crc32_pkg::crc32(with_word, word[8*i+:8]);
  endfunction
endmodule
