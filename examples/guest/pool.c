/* A driver in user space, in the guest that ./run boots: 2x2 max pooling of 4 x 4 pixels with 8 channels, in PDP of nv_small.
 *
 *   pool /dev/uio0 FILE ADDRESS REGISTERS    FILE is not used; ADDRESS is memory that the kernel leaves alone; REGISTERS is the file that has
 *                                            the registers
 *
 * docs/tutorials/first-layer.md programs the same layer, and says what the registers are. */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Made by `vp regs --format c-header`. */
#include "nvdla.h"

/* Registers and what they are to hold, in the order of the writes. */
static const uint32_t layer[][2] = {
    /* What is read: sizes less one, a line every 32 bytes. */
    { NVDLA_PDP_RDMA_D_DATA_CUBE_IN_WIDTH, 3 },
    { NVDLA_PDP_RDMA_D_DATA_CUBE_IN_HEIGHT, 3 },
    { NVDLA_PDP_RDMA_D_DATA_CUBE_IN_CHANNEL, 7 },
    { NVDLA_PDP_RDMA_D_FLYING_MODE, 1 },
    { NVDLA_PDP_RDMA_D_SRC_BASE_ADDR_LOW, 0x80000000 },
    { NVDLA_PDP_RDMA_D_SRC_LINE_STRIDE, 32 },
    { NVDLA_PDP_RDMA_D_SRC_SURFACE_STRIDE, 128 },
    { NVDLA_PDP_RDMA_D_SRC_RAM_CFG, 1 },
    { NVDLA_PDP_RDMA_D_POOLING_KERNEL_CFG, 0x11 },
    /* What is done: maximum, windows of 2 x 2 every 2 pixels. */
    { NVDLA_PDP_D_DATA_CUBE_IN_WIDTH, 3 },
    { NVDLA_PDP_D_DATA_CUBE_IN_HEIGHT, 3 },
    { NVDLA_PDP_D_DATA_CUBE_IN_CHANNEL, 7 },
    { NVDLA_PDP_D_DATA_CUBE_OUT_WIDTH, 1 },
    { NVDLA_PDP_D_DATA_CUBE_OUT_HEIGHT, 1 },
    { NVDLA_PDP_D_DATA_CUBE_OUT_CHANNEL, 7 },
    { NVDLA_PDP_D_OPERATION_MODE_CFG, 0x11 },
    { NVDLA_PDP_D_POOLING_KERNEL_CFG, 0x110101 },
    /* Where it goes. */
    { NVDLA_PDP_D_DST_BASE_ADDR_LOW, 0x80001000 },
    { NVDLA_PDP_D_DST_LINE_STRIDE, 16 },
    { NVDLA_PDP_D_DST_SURFACE_STRIDE, 32 },
    { NVDLA_PDP_D_DST_RAM_CFG, 1 },
    /* Start. */
    { NVDLA_PDP_RDMA_D_OP_ENABLE, 1 },
    { NVDLA_PDP_D_OP_ENABLE, 1 },
};

static void *map(const char *file, size_t bytes, uint64_t at)
{
    int opened = open(file, O_RDWR | O_SYNC | O_CLOEXEC);
    void *mapped = opened < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened, (off_t)at);
    if (mapped == MAP_FAILED) {
        perror(file);
        exit(1);
    }
    return mapped;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    uint64_t base = strtoull(argv[3], NULL, 0);
    volatile uint32_t *registers = map(argv[4], 0x40000, 0);
    volatile uint8_t *memory = map("/dev/mem", 0x2000, base);
    for (int at = 0; at < 4 * 4 * 8; at++)
        memory[at] = (uint8_t)(at / 8 + at % 8);

    /* uio counts interrupts, and wants each enabled. */
    int interrupts = open(argv[1], O_RDWR | O_CLOEXEC);
    uint32_t enable = 1, count;
    if (write(interrupts, &enable, sizeof enable) != sizeof enable)
        return 1;
    for (size_t at = 0; at < sizeof layer / sizeof *layer; at++)
        registers[layer[at][0] / 4] = layer[at][1];
    if (read(interrupts, &count, sizeof count) != sizeof count)
        return 1;
    uint32_t status = registers[NVDLA_GLB_S_INTR_STATUS / 4];
    registers[NVDLA_GLB_S_INTR_STATUS / 4] = status;
    printf("interrupt %u, status 0x%x\n", count, status);

    int wrong = 0;
    for (int pixel = 0; pixel < 4; pixel++) {
        /* The lower right one of its window. */
        int largest = (pixel / 2 * 2 + 1) * 4 + pixel % 2 * 2 + 1;
        printf("pixel %d:", pixel);
        for (int channel = 0; channel < 8; channel++) {
            int value = memory[0x1000 + pixel * 8 + channel];
            wrong += value != largest + channel;
            printf(" %d", value);
        }
        printf("\n");
    }
    printf("%s\n", wrong ? "FAIL" : "PASS");
    return wrong != 0;
}
