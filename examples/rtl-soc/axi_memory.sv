// A memory at NVDLA's AXI pins. Reads are answered in order, the first beat of each `latency` edges after its address; a write an
// edge after its last beat. Data come with their address or after it.
module axi_memory #(
  parameter int DATA_WIDTH = 64,
  parameter int ADDR_WIDTH = 32,
  parameter bit [ADDR_WIDTH-1:0] BASE = 'h8000_0000,
  // Of DATA_WIDTH bits; a power of 2.
  parameter int WORDS = 1 << 16,
  // Reads, and writes, in flight: a power of 2, and more than NVDLA's 256.
  parameter int DEPTH = 512
) (
  input  logic                    clk,
  input  logic                    rst_n,
  // 1 or more.
  input  int                      latency,

  input  logic                    arvalid,
  output logic                    arready,
  input  logic [7:0]              arid,
  input  logic [3:0]              arlen,
  input  logic [ADDR_WIDTH-1:0]   araddr,
  output logic                    rvalid,
  input  logic                    rready,
  output logic [7:0]              rid,
  output logic                    rlast,
  output logic [DATA_WIDTH-1:0]   rdata,

  input  logic                    awvalid,
  output logic                    awready,
  input  logic [7:0]              awid,
  input  logic [ADDR_WIDTH-1:0]   awaddr,
  input  logic                    wvalid,
  output logic                    wready,
  input  logic [DATA_WIDTH-1:0]   wdata,
  input  logic [DATA_WIDTH/8-1:0] wstrb,
  input  logic                    wlast,
  output logic                    bvalid,
  input  logic                    bready,
  output logic [7:0]              bid
);
  localparam int PLACE = $clog2(DEPTH);
  localparam int LOW = $clog2(DATA_WIDTH / 8);
  localparam int INDEX = $clog2(WORDS);

  logic [DATA_WIDTH-1:0] words[WORDS];

  function automatic logic [INDEX-1:0] index(input logic [ADDR_WIDTH-1:0] address, input logic [3:0] beat);
    return INDEX'((address - BASE) >> LOW) + INDEX'(beat);
  endfunction

  // Reads that wait: address, beats less one, id, and the edge of the first beat.
  logic [ADDR_WIDTH+11:0] reads[DEPTH];
  // Not of `int`: the vvp of Icarus Verilog 11 aborts where the index of such an array is X.
  integer                 dues[DEPTH];
  logic [PLACE:0]         read_head, read_tail;
  logic [3:0]             read_beat;
  // For differences only.
  int                     now;

  logic [ADDR_WIDTH-1:0] read_address;
  logic [3:0] read_length;
  logic [7:0] read_id;
  // With a latency of 1, the read that is just taken.
  wire is_new_read = read_head == read_tail;
  assign {read_address, read_length, read_id} = is_new_read ? {araddr, arlen, arid} : reads[read_head[PLACE-1:0]];
  wire is_due = is_new_read ? arvalid && arready && latency == 1 : dues[read_head[PLACE-1:0]] - now <= 1;
  wire is_read = is_due && (!rvalid || rready);

  always @(posedge clk) begin
    now <= now + 1;
    // One may be on its way while this falls.
    arready <= read_tail - read_head < (PLACE + 1)'(DEPTH - 2);
    if (arvalid && arready) begin
      reads[read_tail[PLACE-1:0]] <= {araddr, arlen, arid};
      dues[read_tail[PLACE-1:0]] <= now + latency;
      read_tail <= read_tail + 1;
    end
    if (!rvalid || rready) rvalid <= is_read;
    if (is_read) begin
      rdata <= words[index(read_address, read_beat)];
      rid <= read_id;
      rlast <= read_beat == read_length;
      read_beat <= read_beat == read_length ? 0 : read_beat + 1;
      if (read_beat == read_length) read_head <= read_head + 1;
    end
    if (!rst_n) begin
      now <= 0;
      {read_head, read_tail, read_beat, arready, rvalid} <= 0;
    end
  end

  // Writes: address and id of those whose data have not come, and ids of those that are not answered.
  logic [ADDR_WIDTH+7:0] writes[DEPTH];
  logic [PLACE:0]        taken, written, answered;
  logic [3:0]            write_beat;

  logic [ADDR_WIDTH-1:0] write_address;
  logic [7:0] write_id;
  wire is_new_write = written == taken;
  assign {write_address, write_id} = is_new_write ? {awaddr, awid} : writes[written[PLACE-1:0]];
  wire is_beat = wvalid && wready;
  wire is_answer = written != answered || (is_beat && wlast);
  // In one expression with a byte's place Verilator 5.032 takes it for several writes, and ends.
  wire [INDEX-1:0] written_word = index(write_address, write_beat);
  logic [7:0] answered_id;
  assign answered_id = written != answered ? writes[answered[PLACE-1:0]][7:0] : write_id;

  always @(posedge clk) begin
    awready <= taken - answered < (PLACE + 1)'(DEPTH - 2);
    wready <= taken - answered < (PLACE + 1)'(DEPTH - 2);
    if (awvalid && awready) begin
      writes[taken[PLACE-1:0]] <= {awaddr, awid};
      taken <= taken + 1;
    end
    if (is_beat) begin
      if (is_new_write && !awvalid) $error("data come before their address");
      for (int i = 0; i < DATA_WIDTH / 8; i++)
        if (wstrb[i]) words[written_word][8*i+:8] <= wdata[8*i+:8];
      write_beat <= wlast ? 0 : write_beat + 1;
      if (wlast) written <= written + 1;
    end
    if (!bvalid || bready) begin
      bvalid <= is_answer;
      bid <= answered_id;
      if (is_answer) answered <= answered + 1;
    end
    if (!rst_n) {taken, written, answered, write_beat, awready, wready, bvalid} <= 0;
  end

  // CRC-32 of bytes, which a word's lowest begins.
  function automatic bit [31:0] crc(input bit [ADDR_WIDTH-1:0] address, input int bytes);
    bit [31:0] sum;
    sum = crc32_pkg::BEGIN;
    for (int i = 0; i < bytes; i++)
      sum = crc32_pkg::crc32(sum, words[index(address + ADDR_WIDTH'(i), 0)][8*(i % (DATA_WIDTH / 8))+:8]);
    return ~sum;
  endfunction
endmodule
