// CRC-32 as in IEEE 802.3 and zlib, by which traces say what is to come of a layer.
package crc32_pkg;
  localparam bit [31:0] BEGIN = '1;

  // With one more byte.
  function automatic bit [31:0] crc32(input bit [31:0] crc, input bit [7:0] data);
    bit [31:0] sum;
    sum = crc ^ 32'(data);
    for (int i = 0; i < 8; i++) sum = sum >> 1 ^ (sum[0] ? 32'hedb88320 : 0);
    return sum;
  endfunction
endpackage
