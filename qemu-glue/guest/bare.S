// Where a guest without an operating system begins, on QEMU's `virt`, at EL1 with the MMU off; and where its errors arrive.

    .section .text.start, "ax"
    .global _start
_start:
    ldr     x1, =stack_top
    mov     sp, x1
    ldr     x1, =vectors
    msr     vbar_el1, x1
    isb
    bl      start
    b       .

// An access that the bus answers with an error is noted, and the instruction behind it comes next.
    .balign 0x80
skip:
    stp     x0, x1, [sp, #-16]!
    mrs     x0, elr_el1
    add     x0, x0, #4
    msr     elr_el1, x0
    ldr     x0, =faults
    ldr     w1, [x0]
    add     w1, w1, #1
    str     w1, [x0]
    ldp     x0, x1, [sp], #16
    eret

    .balign 0x800
vectors:
    .rept 16
    b       skip
    .balign 0x80
    .endr

// Calls the firmware: w0 says what for.
    .global firmware
firmware:
    hvc     #0
    ret
