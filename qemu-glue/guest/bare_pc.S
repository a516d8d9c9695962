# Where a guest without an operating system begins on a PC: a loader of Multiboot 1, such as QEMU's own, has left 32 bits, no paging, and
# interrupts masked, which they stay.

    .section .text.start, "ax"
    .balign 4
    .long 0x1badb002, 0, -0x1badb002
    .global _start
_start:
    movl    $stack_top, %esp
    pushl   %ebx
    call    start
    hlt
    jmp     . - 1

    .section .note.GNU-stack, "", @progbits
