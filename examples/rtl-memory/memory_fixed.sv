// A memory that gives the first beat of a read a fixed number of edges after its address, and one more each edge. All of its
// outputs are registers. Its bytes are the platform's library's, so loaders and checks of the platform reach them.
module memory_fixed #(
  parameter int DATA_WIDTH = 64,
  parameter int ADDR_WIDTH = 32,
  parameter int ID_WIDTH = 8,
  // Reads, and writes, that it keeps in flight: a power of 2.
  parameter int DEPTH = 512
) (
  input  logic                    clk,
  input  logic                    rst_n,
  input  int                      port,
  // From an edge with ARVALID and ARREADY to the one with the first RVALID: 1 or more.
  input  int                      latency,

  input  logic                    arvalid,
  output logic                    arready,
  input  logic [ID_WIDTH-1:0]     arid,
  input  logic [ADDR_WIDTH-1:0]   araddr,
  input  logic [7:0]              arlen,

  output logic                    rvalid,
  input  logic                    rready,
  output logic [ID_WIDTH-1:0]     rid,
  output logic [DATA_WIDTH-1:0]   rdata,
  output logic [1:0]              rresp,
  output logic                    rlast,

  input  logic                    awvalid,
  output logic                    awready,
  input  logic [ID_WIDTH-1:0]     awid,
  input  logic [ADDR_WIDTH-1:0]   awaddr,
  input  logic [7:0]              awlen,

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

  assign rresp = 2'b00;

  memory_writes #(
    .DATA_WIDTH(DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(ID_WIDTH), .DEPTH(DEPTH)
  ) writes (.*);

  localparam int BYTES = DATA_WIDTH / 8;
  localparam int PLACE = $clog2(DEPTH);

  // Reads that wait, in the order of their addresses, each with the edge of its first beat.
  logic [ID_WIDTH-1:0]   ids[DEPTH];
  logic [ADDR_WIDTH-1:0] addresses[DEPTH];
  logic [7:0]            lengths[DEPTH];
  // Not of `int`: the vvp of Icarus Verilog 11 aborts where the index of such an array is X.
  integer                dues[DEPTH];
  logic [PLACE:0]        head, tail;
  logic [7:0]            beat;
  // The number of the edge, for differences only.
  int                    now;

  wire [PLACE-1:0] first = head[PLACE-1:0];
  wire             is_empty = head == tail;
  wire             is_taken = arvalid && arready;
  // The read of which a beat may come next: with a latency of 1 it is the one that is just taken.
  wire                  is_due = is_empty ? is_taken && latency == 1 : dues[first] - now <= 1;
  wire [ID_WIDTH-1:0]   next_id = is_empty ? arid : ids[first];
  wire [7:0]            next_length = is_empty ? arlen : lengths[first];
  wire [ADDR_WIDTH-1:0] next_address = is_empty ? araddr : addresses[first];
  wire [ADDR_WIDTH-1:0] beat_address = (next_address & ~ADDR_WIDTH'(BYTES - 1)) + ADDR_WIDTH'(beat) * ADDR_WIDTH'(BYTES);
  wire                  is_sent = is_due && (!rvalid || rready);
  wire                  is_last = beat == next_length;

  logic [WIDEST-1:0] read;

  always @(posedge clk) begin
    now <= now + 1;
    // One read may be on its way while this falls.
    arready <= tail - head < (PLACE + 1)'(DEPTH - 2);
    if (is_taken) begin
      ids[tail[PLACE-1:0]] <= arid;
      addresses[tail[PLACE-1:0]] <= araddr;
      lengths[tail[PLACE-1:0]] <= arlen;
      dues[tail[PLACE-1:0]] <= now + latency;
      tail <= tail + 1;
    end
    if (is_sent) begin
      vp_dpi_memory_read(port, 64'(beat_address), BYTES, read);
      rid <= next_id;
      rdata <= DATA_WIDTH'(read);
      rlast <= is_last;
      beat <= is_last ? 0 : beat + 1;
      if (is_last) head <= head + 1;
    end
    rvalid <= is_sent || (rvalid && !rready);
    if (!rst_n) begin
      now <= 0;
      head <= 0;
      tail <= 0;
      beat <= 0;
      arready <= 0;
      rvalid <= 0;
    end
  end
endmodule
