// Rules of AXI at the pins of one port (AMBA AXI and ACE Protocol Specification, ARM IHI 0022): each broken one is an error with its
// channel. Beside any port; for Verilator and Icarus Verilog alike.
module vp_axi_checks #(
  parameter NAME = "axi",
  parameter int DATA_WIDTH = 64,
  parameter int ADDR_WIDTH = 32,
  parameter int ID_WIDTH = 8
) (
  input logic                    clk,
  input logic                    rst_n,

  input logic                    arvalid,
  input logic                    arready,
  input logic [ID_WIDTH-1:0]     arid,
  input logic [ADDR_WIDTH-1:0]   araddr,
  input logic [7:0]              arlen,

  input logic                    rvalid,
  input logic                    rready,
  input logic [ID_WIDTH-1:0]     rid,
  input logic [DATA_WIDTH-1:0]   rdata,
  input logic [1:0]              rresp,
  input logic                    rlast,

  input logic                    awvalid,
  input logic                    awready,
  input logic [ID_WIDTH-1:0]     awid,
  input logic [ADDR_WIDTH-1:0]   awaddr,
  input logic [7:0]              awlen,

  input logic                    wvalid,
  input logic                    wready,
  input logic [DATA_WIDTH-1:0]   wdata,
  input logic [DATA_WIDTH/8-1:0] wstrb,
  input logic                    wlast,

  input logic                    bvalid,
  input logic                    bready,
  input logic [ID_WIDTH-1:0]     bid,
  input logic [1:0]              bresp
);
  // The most bursts of one id, or of writes, that are followed: a power of 2.
  localparam int DEPTH = 512;
  localparam int PLACE = $clog2(DEPTH);
  localparam int IDS = 1 << ID_WIDTH;

  // How many rules were broken.
  int broken;

  // verilator lint_off BLKSEQ
  task automatic rule(input logic is_kept, input [8*2-1:0] channel, input [8*72-1:0] text);
    if (!is_kept) begin
      broken = broken + 1;
      // Simulations by Verilator abort at $error.
      $fdisplay(32'h8000_0002, "error: %0s, %0s, at %0t: %0s", NAME, channel, $time, text);
    end
  endtask

  localparam int AX = ADDR_WIDTH + ID_WIDTH + 8;
  wire [AX-1:0] ar = {araddr, arid, arlen};
  wire [AX-1:0] aw = {awaddr, awid, awlen};
  wire [DATA_WIDTH+DATA_WIDTH/8:0] w = {wdata, wstrb, wlast};
  wire [DATA_WIDTH+ID_WIDTH+2:0] r = {rdata, rid, rresp, rlast};
  wire [ID_WIDTH+1:0] b = {bid, bresp};

  // What was on the pins at the edge before and not taken.
  logic was_ar, was_aw, was_w, was_r, was_b;
  logic [AX-1:0] last_ar, last_aw;
  logic [DATA_WIDTH+DATA_WIDTH/8:0] last_w;
  logic [DATA_WIDTH+ID_WIDTH+2:0] last_r;
  logic [ID_WIDTH+1:0] last_b;

  // Reads: by id, how many bursts are open; of one id they are answered in order. Their lengths, all ids in one table.
  logic [PLACE-1:0] read_head[IDS], read_tail[IDS];
  logic [7:0] read_lengths[IDS*DEPTH];
  logic [7:0] read_beat[IDS];

  // Writes: as their addresses say, as their data was, how many there are of both, and by id how many of those have no response.
  logic [7:0] write_lengths[DEPTH];
  logic [7:0] data_lengths[DEPTH];
  logic [PLACE:0] write_addresses, write_data, write_both;
  logic [7:0] write_beat;
  logic [ID_WIDTH-1:0] write_ids[DEPTH];
  logic [PLACE:0] owed[IDS];

  function automatic logic is_in_page(input [ADDR_WIDTH-1:0] address, input [7:0] length);
    int unsigned first;
    first = 32'(address[11:0]) & ~32'(DATA_WIDTH / 8 - 1);
    return first + (32'(length) + 1) * 32'(DATA_WIDTH / 8) <= 4096;
  endfunction

  localparam [8*72-1:0] STAY = "VALID has to stay high until READY takes the transfer";
  localparam [8*72-1:0] SAME = "the payload has to stay as it is until READY takes the transfer";
  localparam [8*72-1:0] PAGE = "a burst must not cross a boundary of 4 KiB";
  localparam [8*72-1:0] LAST = "LAST has to be high at the last beat of the burst, and only there";

  logic [7:0] length;
  logic [PLACE-1:0] place;

  always @(posedge clk)
    if (!rst_n) begin
      broken = 0;
      {was_ar, was_aw, was_w, was_r, was_b} <= 0;
      write_addresses = 0;
      write_data = 0;
      write_both = 0;
      write_beat = 0;
      for (int i = 0; i < IDS; i++) begin
        read_head[i] = 0;
        read_tail[i] = 0;
        read_beat[i] = 0;
        owed[i] = 0;
      end
    end else begin
      rule(!was_ar || arvalid, "AR", STAY);
      rule(!was_ar || !arvalid || ar == last_ar, "AR", SAME);
      rule(!was_aw || awvalid, "AW", STAY);
      rule(!was_aw || !awvalid || aw == last_aw, "AW", SAME);
      rule(!was_w || wvalid, "W", STAY);
      rule(!was_w || !wvalid || w == last_w, "W", SAME);
      rule(!was_r || rvalid, "R", STAY);
      rule(!was_r || !rvalid || r == last_r, "R", SAME);
      rule(!was_b || bvalid, "B", STAY);
      rule(!was_b || !bvalid || b == last_b, "B", SAME);
      was_ar <= arvalid && !arready;
      was_aw <= awvalid && !awready;
      was_w <= wvalid && !wready;
      was_r <= rvalid && !rready;
      was_b <= bvalid && !bready;
      last_ar <= ar;
      last_aw <= aw;
      last_w <= w;
      last_r <= r;
      last_b <= b;

      // An answer comes an edge after what it answers at the earliest, so answers are looked at first.
      if (bvalid) rule(owed[bid] != 0, "B", "a response that no write with this id and all its data is owed");
      if (bvalid && bready && owed[bid] != 0) owed[bid] = owed[bid] - 1;

      if (rvalid) begin
        rule(read_head[rid] != read_tail[rid], "R", "data that no read with this id is owed");
        if (read_head[rid] != read_tail[rid]) begin
          length = read_lengths[{rid, read_head[rid]}];
          rule(rlast == (read_beat[rid] == length), "R", LAST);
          if (rready) begin
            read_beat[rid] = rlast ? 0 : read_beat[rid] + 1;
            if (rlast) read_head[rid] = read_head[rid] + 1;
          end
        end
      end

      if (arvalid) rule(is_in_page(araddr, arlen), "AR", PAGE);
      if (arvalid && arready) begin
        place = read_tail[arid];
        read_lengths[{arid, place}] = arlen;
        read_tail[arid] = place + 1;
      end

      if (awvalid) rule(is_in_page(awaddr, awlen), "AW", PAGE);
      if (awvalid && awready) begin
        write_lengths[write_addresses[PLACE-1:0]] = awlen;
        write_ids[write_addresses[PLACE-1:0]] = awid;
        write_addresses = write_addresses + 1;
      end

      // Data may come before its address.
      if (wvalid && wready) begin
        data_lengths[write_data[PLACE-1:0]] = write_beat;
        write_beat = wlast ? 0 : write_beat + 1;
        if (wlast) write_data = write_data + 1;
      end
      while (write_both != write_data && write_both != write_addresses) begin
        place = write_both[PLACE-1:0];
        rule(data_lengths[place] == write_lengths[place], "W", LAST);
        owed[write_ids[place]] = owed[write_ids[place]] + 1;
        write_both = write_both + 1;
      end
    end
  // verilator lint_on BLKSEQ
endmodule
