// What a DRAM adds in front of a read: one row of each bank is open, another has to be activated first, and refreshes close all.
// Reads are served in order. Writes are taken to be buffered until their rows are open, and do not come this way.
module memory_rows #(
  parameter int ADDR_WIDTH = 32,
  parameter int ID_WIDTH = 8,
  parameter int DEPTH = 256,
  parameter int BANKS = 8,
  parameter int ROW_BYTES = 1024,
  // Edges from one open row of a bank to the next, precharge included; between refreshes; and of one.
  parameter int ACTIVATE = 28,
  parameter int REFRESH_INTERVAL = 7800,
  parameter int REFRESH = 350
) (
  input  logic                  clk,
  input  logic                  rst_n,

  input  logic                  arvalid,
  output logic                  arready,
  input  logic [ID_WIDTH-1:0]   arid,
  input  logic [ADDR_WIDTH-1:0] araddr,
  input  logic [7:0]            arlen,

  // To the memory behind.
  output logic                  open_arvalid,
  input  logic                  open_arready,
  output logic [ID_WIDTH-1:0]   open_arid,
  output logic [ADDR_WIDTH-1:0] open_araddr,
  output logic [7:0]            open_arlen
);
  localparam int PLACE = $clog2(DEPTH);
  localparam int COLUMN = $clog2(ROW_BYTES);
  localparam int BANK = $clog2(BANKS);
  localparam int ROW = ADDR_WIDTH - COLUMN - BANK;

  logic [ID_WIDTH+ADDR_WIDTH+8-1:0] waiting[DEPTH];
  logic [PLACE:0] head, tail;
  logic [ROW-1:0] rows[BANKS];
  logic [BANKS-1:0] is_open;
  // Edges for which the banks are busy, and until the next refresh.
  int busy, interval;

  logic [ID_WIDTH-1:0] id;
  logic [ADDR_WIDTH-1:0] address;
  logic [7:0] length;
  assign {id, address, length} = waiting[head[PLACE-1:0]];
  wire [BANK-1:0] bank = address[COLUMN+:BANK];
  wire [ROW-1:0] row = address[ADDR_WIDTH-1-:ROW];
  wire is_hit = is_open[bank] && rows[bank] == row;
  wire is_refresh = interval == 0;
  wire is_sent = head != tail && busy == 0 && !is_refresh && is_hit && (!open_arvalid || open_arready);

  always @(posedge clk) begin
    // One read may be on its way while this falls.
    arready <= tail - head < (PLACE + 1)'(DEPTH - 2);
    if (arvalid && arready) begin
      waiting[tail[PLACE-1:0]] <= {arid, araddr, arlen};
      tail <= tail + 1;
    end
    interval <= is_refresh && busy == 0 ? REFRESH_INTERVAL : is_refresh ? 0 : interval - 1;
    if (busy != 0) busy <= busy - 1;
    else if (is_refresh) begin
      busy <= REFRESH;
      is_open <= 0;
    end else if (head != tail && !is_hit) begin
      busy <= ACTIVATE - 1;
      is_open[bank] <= 1;
      rows[bank] <= row;
    end
    open_arvalid <= is_sent || (open_arvalid && !open_arready);
    if (is_sent) begin
      {open_arid, open_araddr, open_arlen} <= {id, address, length};
      head <= head + 1;
    end
    if (!rst_n) begin
      head <= 0;
      tail <= 0;
      busy <= 0;
      interval <= REFRESH_INTERVAL;
      is_open <= 0;
      arready <= 0;
      open_arvalid <= 0;
    end
  end
endmodule
