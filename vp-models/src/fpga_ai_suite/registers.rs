//! The CSR block's registers, as one table: offsets are byte addresses in its 2048 bytes.

registers! {
    unit "CSR";

    /// Discovery ROM: bytes 0 to 3 of the hash of the architecture file.
    HASH_0 @ 0x000 single ro { BYTES [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 4 to 7 of the hash of the architecture file.
    HASH_1 @ 0x004 single ro { BYTES [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 8 to 11 of the hash of the architecture file.
    HASH_2 @ 0x008 single ro { BYTES [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 12 to 15 of the hash of the architecture file.
    HASH_3 @ 0x00c single ro { BYTES [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 0 to 3 of the version string.
    VERSION_0 @ 0x010 single ro { TEXT [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 4 to 7 of the version string.
    VERSION_1 @ 0x014 single ro { TEXT [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 8 to 11 of the version string.
    VERSION_2 @ 0x018 single ro { TEXT [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 12 to 15 of the version string.
    VERSION_3 @ 0x01c single ro { TEXT [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 16 to 19 of the version string.
    VERSION_4 @ 0x020 single ro { TEXT [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 20 to 23 of the version string.
    VERSION_5 @ 0x024 single ro { TEXT [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 24 to 27 of the version string.
    VERSION_6 @ 0x028 single ro { TEXT [31:0] = 0: "The first byte in the lowest bits." }

    /// Discovery ROM: bytes 28 to 31 of the version string.
    VERSION_7 @ 0x02c single ro { TEXT [31:0] = 0: "The first byte in the lowest bits." }

    /// Interrupt causes that have occurred.
    INTERRUPT_CONTROL @ 0x200 single w1c {
        /// An error: a request was refused, or a job ended without its output.
        ERROR [0] = 0;
        /// An inference is complete.
        COMPLETE [1] = 0;
    }

    /// Interrupt causes that raise the line.
    INTERRUPT_MASK @ 0x204 single rw {
        /// Errors.
        ERROR [0] = 0;
        /// Complete inferences.
        COMPLETE [1] = 0;
    }

    /// Address of a job's configuration and filters.
    CONFIG_BASE @ 0x210 single rw { ADDRESS [31:0] = 0: "Byte address, a multiple of the memory word." }

    /// Length of the configuration.
    CONFIG_WORDS @ 0x214 single rw { COUNT [31:0] = 0: "Words of 64 bits, minus two." }

    /// Address of a job's input and output; a write queues a descriptor.
    IO_BASE @ 0x218 single rw { ADDRESS [31:0] = 0: "Byte address, a multiple of the memory word." }

    /// State of the descriptor queue.
    DIAGNOSTICS @ 0x21c single ro {
        /// A descriptor came when the queue was full; stays until reset.
        OVERFLOW [0] = 0;
        /// The queue is full or almost full.
        ALMOST_FULL [1] = 0;
        /// An unlicensed IP has taken as many requests as it does; others are refused.
        LIMIT [2] = 0;
    }

    /// Address for features that the IP has no room for.
    INTERMEDIATE_BASE @ 0x220 single rw { ADDRESS [31:0] = 0: "Byte address, a multiple of the memory word." }

    /// Number of complete inferences.
    COMPLETION_COUNT @ 0x224 single ro { COUNT [31:0] = 0: "Since reset, modulo 2^32." }

    /// Resets the IP.
    IP_RESET @ 0x228 single wo { RESET [31:0] = 0: "Any value but zero resets." }

    /// Starts and stops streaming.
    STREAMING @ 0x22c single rw {
        /// Descriptors are begun, and the input stream is listened to.
        ACTIVE [0] = 0;
    }

    /// Lower half of the clocks in which a job was active.
    ACTIVE_CLOCKS_LOW @ 0x240 single ro { COUNT [31:0] = 0: "Bits 31:0." }

    /// Upper half of the clocks in which a job was active.
    ACTIVE_CLOCKS_HIGH @ 0x244 single ro { COUNT [31:0] = 0: "Bits 63:32." }

    /// Lower half of the clocks times jobs that were active.
    JOB_CLOCKS_LOW @ 0x248 single ro { COUNT [31:0] = 0: "Bits 31:0." }

    /// Upper half of the clocks times jobs that were active.
    JOB_CLOCKS_HIGH @ 0x24c single ro { COUNT [31:0] = 0: "Bits 63:32." }

    /// Asks the debug network.
    DEBUG_ADDRESS @ 0x250 single rw { ADDRESS [31:0] = 0: "Address to read there." }

    /// Flag for an answer of the debug network.
    DEBUG_VALID @ 0x254 single ro { VALID [0] = 0: "DEBUG_DATA is the answer." }

    /// Answer of the debug network.
    DEBUG_DATA @ 0x258 single ro { DATA [31:0] = 0: "The word." }

    /// Licence of the IP.
    LICENCE @ 0x260 single ro { LICENSED [0] = 0: "The IP is licensed." }

    /// Lower half of the memory words of input features read.
    INPUT_WORDS_LOW @ 0x264 single ro { COUNT [31:0] = 0: "Bits 31:0." }

    /// Upper half of the memory words of input features read.
    INPUT_WORDS_HIGH @ 0x268 single ro { COUNT [31:0] = 0: "Bits 63:32." }

    /// Lower half of the memory words of filters and biases read.
    FILTER_WORDS_LOW @ 0x26c single ro { COUNT [31:0] = 0: "Bits 31:0." }

    /// Upper half of the memory words of filters and biases read.
    FILTER_WORDS_HIGH @ 0x270 single ro { COUNT [31:0] = 0: "Bits 63:32." }

    /// Lower half of the memory words of output features written.
    OUTPUT_WORDS_LOW @ 0x274 single ro { COUNT [31:0] = 0: "Bits 31:0." }

    /// Upper half of the memory words of output features written.
    OUTPUT_WORDS_HIGH @ 0x278 single ro { COUNT [31:0] = 0: "Bits 63:32." }

    /// Bits 31:0 of the word that a model update writes.
    UPDATE_0 @ 0x300 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 63:32 of the word that a model update writes.
    UPDATE_1 @ 0x304 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 95:64 of the word that a model update writes.
    UPDATE_2 @ 0x308 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 127:96 of the word that a model update writes.
    UPDATE_3 @ 0x30c single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 159:128 of the word that a model update writes.
    UPDATE_4 @ 0x310 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 191:160 of the word that a model update writes.
    UPDATE_5 @ 0x314 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 223:192 of the word that a model update writes.
    UPDATE_6 @ 0x318 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 255:224 of the word that a model update writes.
    UPDATE_7 @ 0x31c single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 287:256 of the word that a model update writes.
    UPDATE_8 @ 0x320 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 319:288 of the word that a model update writes.
    UPDATE_9 @ 0x324 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 351:320 of the word that a model update writes.
    UPDATE_10 @ 0x328 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 383:352 of the word that a model update writes.
    UPDATE_11 @ 0x32c single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 415:384 of the word that a model update writes.
    UPDATE_12 @ 0x330 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 447:416 of the word that a model update writes.
    UPDATE_13 @ 0x334 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 479:448 of the word that a model update writes.
    UPDATE_14 @ 0x338 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 511:480 of the word that a model update writes.
    UPDATE_15 @ 0x33c single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 543:512 of the word that a model update writes.
    UPDATE_16 @ 0x340 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 575:544 of the word that a model update writes.
    UPDATE_17 @ 0x344 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 607:576 of the word that a model update writes.
    UPDATE_18 @ 0x348 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 639:608 of the word that a model update writes.
    UPDATE_19 @ 0x34c single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 671:640 of the word that a model update writes.
    UPDATE_20 @ 0x350 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 703:672 of the word that a model update writes.
    UPDATE_21 @ 0x354 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 735:704 of the word that a model update writes.
    UPDATE_22 @ 0x358 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 767:736 of the word that a model update writes.
    UPDATE_23 @ 0x35c single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 799:768 of the word that a model update writes.
    UPDATE_24 @ 0x360 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 831:800 of the word that a model update writes.
    UPDATE_25 @ 0x364 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 863:832 of the word that a model update writes.
    UPDATE_26 @ 0x368 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 895:864 of the word that a model update writes.
    UPDATE_27 @ 0x36c single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 927:896 of the word that a model update writes.
    UPDATE_28 @ 0x370 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 959:928 of the word that a model update writes.
    UPDATE_29 @ 0x374 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 991:960 of the word that a model update writes.
    UPDATE_30 @ 0x378 single wo { WORD [31:0] = 0: "The bits." }

    /// Bits 1023:992 of the word that a model update writes.
    UPDATE_31 @ 0x37c single wo { WORD [31:0] = 0: "The bits." }

    /// Writes the word.
    UPDATE_CONTROL @ 0x380 single wo {
        /// Address in the memory, in words of its kind.
        ADDRESS [30:0] = 0;
        /// Memory to write.
        KIND [31] = 0 { CONFIGURATION = 0, SCRATCHPAD = 1 };
    }
}
