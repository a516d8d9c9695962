//! The CSR block's registers, as one table: offsets are byte addresses in its 2048 bytes.

registers! {
    unit "CSR";

    /// Discovery ROM: bytes 0 to 3 of the hash of the architecture file.
    HASH_0 hash_0 @ 0x000 single ro {
        /// The first byte in the lowest bits.
        BYTES [31:0] = 0;
    }

    /// Discovery ROM: bytes 4 to 7 of the hash of the architecture file.
    HASH_1 hash_1 @ 0x004 single ro {
        /// The first byte in the lowest bits.
        BYTES [31:0] = 0;
    }

    /// Discovery ROM: bytes 8 to 11 of the hash of the architecture file.
    HASH_2 hash_2 @ 0x008 single ro {
        /// The first byte in the lowest bits.
        BYTES [31:0] = 0;
    }

    /// Discovery ROM: bytes 12 to 15 of the hash of the architecture file.
    HASH_3 hash_3 @ 0x00c single ro {
        /// The first byte in the lowest bits.
        BYTES [31:0] = 0;
    }

    /// Discovery ROM: bytes 0 to 3 of the version string.
    VERSION_0 version_0 @ 0x010 single ro {
        /// The first byte in the lowest bits.
        TEXT [31:0] = 0;
    }

    /// Discovery ROM: bytes 4 to 7 of the version string.
    VERSION_1 version_1 @ 0x014 single ro {
        /// The first byte in the lowest bits.
        TEXT [31:0] = 0;
    }

    /// Discovery ROM: bytes 8 to 11 of the version string.
    VERSION_2 version_2 @ 0x018 single ro {
        /// The first byte in the lowest bits.
        TEXT [31:0] = 0;
    }

    /// Discovery ROM: bytes 12 to 15 of the version string.
    VERSION_3 version_3 @ 0x01c single ro {
        /// The first byte in the lowest bits.
        TEXT [31:0] = 0;
    }

    /// Discovery ROM: bytes 16 to 19 of the version string.
    VERSION_4 version_4 @ 0x020 single ro {
        /// The first byte in the lowest bits.
        TEXT [31:0] = 0;
    }

    /// Discovery ROM: bytes 20 to 23 of the version string.
    VERSION_5 version_5 @ 0x024 single ro {
        /// The first byte in the lowest bits.
        TEXT [31:0] = 0;
    }

    /// Discovery ROM: bytes 24 to 27 of the version string.
    VERSION_6 version_6 @ 0x028 single ro {
        /// The first byte in the lowest bits.
        TEXT [31:0] = 0;
    }

    /// Discovery ROM: bytes 28 to 31 of the version string.
    VERSION_7 version_7 @ 0x02c single ro {
        /// The first byte in the lowest bits.
        TEXT [31:0] = 0;
    }

    /// What has happened.
    INTERRUPT_CONTROL interrupt_control @ 0x200 single w1c {
        /// An error: a request was refused, or a job ended without its output.
        ERROR [0] = 0;
        /// An inference is complete.
        COMPLETE [1] = 0;
    }

    /// What interrupts.
    INTERRUPT_MASK interrupt_mask @ 0x204 single rw {
        /// An error does.
        ERROR [0] = 0;
        /// A complete inference does.
        COMPLETE [1] = 0;
    }

    /// Where a job finds its configuration and its filters.
    CONFIG_BASE config_base @ 0x210 single rw {
        /// Byte address, a multiple of the memory word.
        ADDRESS [31:0] = 0;
    }

    /// How long the configuration is.
    CONFIG_WORDS config_words @ 0x214 single rw {
        /// Words of 64 bits, minus two.
        COUNT [31:0] = 0;
    }

    /// Where a job finds its input and puts its output; a write queues a descriptor.
    IO_BASE io_base @ 0x218 single rw {
        /// Byte address, a multiple of the memory word.
        ADDRESS [31:0] = 0;
    }

    /// State of the descriptor queue.
    DIAGNOSTICS diagnostics @ 0x21c single ro {
        /// A descriptor came when the queue was full; stays until reset.
        OVERFLOW [0] = 0;
        /// The queue is full or almost full.
        ALMOST_FULL [1] = 0;
        /// An unlicensed IP has taken as many requests as it does; others are refused.
        LIMIT [2] = 0;
    }

    /// Where features go that the IP has no room for.
    INTERMEDIATE_BASE intermediate_base @ 0x220 single rw {
        /// Byte address, a multiple of the memory word.
        ADDRESS [31:0] = 0;
    }

    /// How many inferences are complete.
    COMPLETION_COUNT completion_count @ 0x224 single ro {
        /// Since reset, modulo 2^32.
        COUNT [31:0] = 0;
    }

    /// Resets the IP.
    IP_RESET ip_reset @ 0x228 single wo {
        /// Any value but zero resets.
        RESET [31:0] = 0;
    }

    /// Starts and stops streaming.
    STREAMING streaming @ 0x22c single rw {
        /// Descriptors are begun, and the input stream is listened to.
        ACTIVE [0] = 0;
    }

    /// Lower half of the clocks in which a job was active.
    ACTIVE_CLOCKS_LOW active_clocks_low @ 0x240 single ro {
        /// Bits 31:0.
        COUNT [31:0] = 0;
    }

    /// Upper half of the clocks in which a job was active.
    ACTIVE_CLOCKS_HIGH active_clocks_high @ 0x244 single ro {
        /// Bits 63:32.
        COUNT [31:0] = 0;
    }

    /// Lower half of the clocks times jobs that were active.
    JOB_CLOCKS_LOW job_clocks_low @ 0x248 single ro {
        /// Bits 31:0.
        COUNT [31:0] = 0;
    }

    /// Upper half of the clocks times jobs that were active.
    JOB_CLOCKS_HIGH job_clocks_high @ 0x24c single ro {
        /// Bits 63:32.
        COUNT [31:0] = 0;
    }

    /// Asks the debug network.
    DEBUG_ADDRESS debug_address @ 0x250 single rw {
        /// What for.
        ADDRESS [31:0] = 0;
    }

    /// Whether the debug network has answered.
    DEBUG_VALID debug_valid @ 0x254 single ro {
        /// DEBUG_DATA is the answer.
        VALID [0] = 0;
    }

    /// What the debug network has answered.
    DEBUG_DATA debug_data @ 0x258 single ro {
        /// The word.
        DATA [31:0] = 0;
    }

    /// Whether the IP is licensed.
    LICENCE licence @ 0x260 single ro {
        /// It is.
        LICENSED [0] = 0;
    }

    /// Lower half of the memory words of input features read.
    INPUT_WORDS_LOW input_words_low @ 0x264 single ro {
        /// Bits 31:0.
        COUNT [31:0] = 0;
    }

    /// Upper half of the memory words of input features read.
    INPUT_WORDS_HIGH input_words_high @ 0x268 single ro {
        /// Bits 63:32.
        COUNT [31:0] = 0;
    }

    /// Lower half of the memory words of filters and biases read.
    FILTER_WORDS_LOW filter_words_low @ 0x26c single ro {
        /// Bits 31:0.
        COUNT [31:0] = 0;
    }

    /// Upper half of the memory words of filters and biases read.
    FILTER_WORDS_HIGH filter_words_high @ 0x270 single ro {
        /// Bits 63:32.
        COUNT [31:0] = 0;
    }

    /// Lower half of the memory words of output features written.
    OUTPUT_WORDS_LOW output_words_low @ 0x274 single ro {
        /// Bits 31:0.
        COUNT [31:0] = 0;
    }

    /// Upper half of the memory words of output features written.
    OUTPUT_WORDS_HIGH output_words_high @ 0x278 single ro {
        /// Bits 63:32.
        COUNT [31:0] = 0;
    }

    /// Bits 31:0 of the word that a model update writes.
    UPDATE_0 update_0 @ 0x300 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 63:32 of the word that a model update writes.
    UPDATE_1 update_1 @ 0x304 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 95:64 of the word that a model update writes.
    UPDATE_2 update_2 @ 0x308 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 127:96 of the word that a model update writes.
    UPDATE_3 update_3 @ 0x30c single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 159:128 of the word that a model update writes.
    UPDATE_4 update_4 @ 0x310 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 191:160 of the word that a model update writes.
    UPDATE_5 update_5 @ 0x314 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 223:192 of the word that a model update writes.
    UPDATE_6 update_6 @ 0x318 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 255:224 of the word that a model update writes.
    UPDATE_7 update_7 @ 0x31c single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 287:256 of the word that a model update writes.
    UPDATE_8 update_8 @ 0x320 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 319:288 of the word that a model update writes.
    UPDATE_9 update_9 @ 0x324 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 351:320 of the word that a model update writes.
    UPDATE_10 update_10 @ 0x328 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 383:352 of the word that a model update writes.
    UPDATE_11 update_11 @ 0x32c single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 415:384 of the word that a model update writes.
    UPDATE_12 update_12 @ 0x330 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 447:416 of the word that a model update writes.
    UPDATE_13 update_13 @ 0x334 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 479:448 of the word that a model update writes.
    UPDATE_14 update_14 @ 0x338 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 511:480 of the word that a model update writes.
    UPDATE_15 update_15 @ 0x33c single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 543:512 of the word that a model update writes.
    UPDATE_16 update_16 @ 0x340 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 575:544 of the word that a model update writes.
    UPDATE_17 update_17 @ 0x344 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 607:576 of the word that a model update writes.
    UPDATE_18 update_18 @ 0x348 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 639:608 of the word that a model update writes.
    UPDATE_19 update_19 @ 0x34c single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 671:640 of the word that a model update writes.
    UPDATE_20 update_20 @ 0x350 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 703:672 of the word that a model update writes.
    UPDATE_21 update_21 @ 0x354 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 735:704 of the word that a model update writes.
    UPDATE_22 update_22 @ 0x358 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 767:736 of the word that a model update writes.
    UPDATE_23 update_23 @ 0x35c single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 799:768 of the word that a model update writes.
    UPDATE_24 update_24 @ 0x360 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 831:800 of the word that a model update writes.
    UPDATE_25 update_25 @ 0x364 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 863:832 of the word that a model update writes.
    UPDATE_26 update_26 @ 0x368 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 895:864 of the word that a model update writes.
    UPDATE_27 update_27 @ 0x36c single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 927:896 of the word that a model update writes.
    UPDATE_28 update_28 @ 0x370 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 959:928 of the word that a model update writes.
    UPDATE_29 update_29 @ 0x374 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 991:960 of the word that a model update writes.
    UPDATE_30 update_30 @ 0x378 single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Bits 1023:992 of the word that a model update writes.
    UPDATE_31 update_31 @ 0x37c single wo {
        /// They.
        WORD [31:0] = 0;
    }

    /// Writes the word.
    UPDATE_CONTROL update_control @ 0x380 single wo {
        /// Its place, in words of its kind.
        ADDRESS [30:0] = 0;
        /// Which memory it is for.
        KIND [31] = 0 { CONFIGURATION = 0, SCRATCHPAD = 1 };
    }
}
