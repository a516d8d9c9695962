# Where a guest without an operating system begins on a PC: a loader of Multiboot 1, such as QEMU's own, or of PVH, such as
# cloud-hypervisor's, has left 32 bits, no paging, and interrupts masked, which they stay.

    .section .text.start, "ax"
    .balign 4
    .long 0x1badb002, 0, -0x1badb002
    .global _start
_start:
    movl    $stack_top, %esp
    # Not every loader of PVH has cleared it, after a restart.
    movl    $bss_start, %edi
    movl    $bss_end, %ecx
    subl    %edi, %ecx
    xorl    %eax, %eax
    cld
    rep stosb
    pushl   %ebx
    call    start
    hlt
    jmp     . - 1

# The entry for PVH: XEN_ELFNOTE_PHYS32_ENTRY (Xen, xen/include/public/elfnote.h).
    .section .note.Xen, "a", @note
    .balign 4
    .long 4, 4, 18
    .asciz "Xen"
    .long _start

    .section .note.GNU-stack, "", @progbits
