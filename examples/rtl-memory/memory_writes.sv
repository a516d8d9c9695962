// The writes of a memory: each burst is acknowledged an edge after its last beat.
module memory_writes #(
  parameter int DATA_WIDTH = 64,
  parameter int ADDR_WIDTH = 32,
  parameter int ID_WIDTH = 8,
  // Bursts whose data or response waits: a power of 2.
  parameter int DEPTH = 512
) (
  input  logic                    clk,
  input  logic                    rst_n,
  input  int                      port,

  input  logic                    awvalid,
  output logic                    awready,
  input  logic [ID_WIDTH-1:0]     awid,
  input  logic [ADDR_WIDTH-1:0]   awaddr,

  input  logic                    wvalid,
  output logic                    wready,
  input  logic [DATA_WIDTH-1:0]   wdata,
  input  logic [DATA_WIDTH/8-1:0] wstrb,
  input  logic                    wlast,

  output logic                    bvalid,
  input  logic                    bready,
  output logic [ID_WIDTH-1:0]     bid,
  output logic [1:0]              bresp
);
  import vp_pkg::*;

  localparam int BYTES = DATA_WIDTH / 8;
  localparam int PLACE = $clog2(DEPTH);

  assign bresp = 2'b00;

  // Bursts in the order of their addresses: those before `written` have their data, those before `answered` their response.
  logic [ID_WIDTH-1:0]   ids[DEPTH];
  logic [ADDR_WIDTH-1:0] addresses[DEPTH];
  logic [PLACE:0]        taken, written, answered;
  logic [7:0]            beat;

  // Data may come at the edge of its address, and not before.
  wire is_new = written == taken;
  wire [ADDR_WIDTH-1:0] address = is_new ? awaddr : addresses[written[PLACE-1:0]];
  wire [ADDR_WIDTH-1:0] beat_address = (address & ~ADDR_WIDTH'(BYTES - 1)) + ADDR_WIDTH'(beat) * ADDR_WIDTH'(BYTES);
  wire [ID_WIDTH-1:0] id = is_new ? awid : ids[written[PLACE-1:0]];
  wire is_taken = awvalid && awready;
  wire is_beat = wvalid && wready;
  wire is_written = is_beat && wlast;
  wire is_answered = !bvalid || bready;

  always @(posedge clk) begin
    awready <= taken - answered < (PLACE + 1)'(DEPTH - 2);
    wready <= taken - answered < (PLACE + 1)'(DEPTH - 2);
    if (is_taken) begin
      ids[taken[PLACE-1:0]] <= awid;
      addresses[taken[PLACE-1:0]] <= awaddr;
      taken <= taken + 1;
    end
    if (is_beat) begin
      vp_dpi_memory_write(port, 64'(beat_address), BYTES, WIDEST'(wdata), 64'(wstrb));
      beat <= wlast ? 0 : beat + 1;
      if (wlast) written <= written + 1;
    end
    if (is_answered) begin
      bvalid <= written != answered || is_written;
      bid <= written != answered ? ids[answered[PLACE-1:0]] : id;
      if (written != answered || is_written) answered <= answered + 1;
    end
    if (!rst_n) begin
      taken <= 0;
      written <= 0;
      answered <= 0;
      beat <= 0;
      awready <= 0;
      wready <= 0;
      bvalid <= 0;
    end
  end
endmodule
