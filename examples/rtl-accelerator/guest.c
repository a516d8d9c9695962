/* Has the accelerator add two vectors, through one of the kernel's generic drivers, and checks the sum.
 *
 *   guest /dev/uio0 - ADDRESS REGISTERS    of memory that the kernel leaves to the device; the file that has the registers
 */

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IDENTITY = 0x00, STATUS = 0x04, COUNT = 0x08, A = 0x0c, B = 0x10, SUM = 0x14, CYCLES = 0x18 };
enum { NUMBERS = 4100, BYTES = 0x5000, PATIENCE_MS = 30000 };

static volatile uint32_t *registers;

static volatile uint32_t *mapped(int file, off_t offset, size_t bytes)
{
    void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
    if (place == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return place;
}

static void write_register(unsigned offset, uint32_t value)
{
    registers[offset / 4] = value;
}

int main(int argc, char **argv)
{
    int device = argc > 4 ? open(argv[1], O_RDWR) : -1;
    int window = device < 0 ? -1 : open(argv[4], O_RDWR | O_SYNC);
    int memory = open("/dev/mem", O_RDWR | O_SYNC);
    if (window < 0 || memory < 0) {
        perror("the device, or /dev/mem");
        return 1;
    }
    uint32_t base = strtoul(argv[3], NULL, 0);
    registers = mapped(window, 0, 4096);
    volatile uint32_t *a = mapped(memory, base, 3 * BYTES), *b = a + BYTES / 4, *sum = b + BYTES / 4;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        a[i] = 3 * i;
        b[i] = 0x80000000 - i;
    }
    printf("identity %08x\n", registers[IDENTITY / 4]);
    write_register(A, base);
    write_register(B, base + BYTES);
    write_register(SUM, base + 2 * BYTES);
    __sync_synchronize();
    write_register(COUNT, NUMBERS / 2);

    /* A read of the device waits for its interrupt. */
    struct pollfd wanted = { .fd = device, .events = POLLIN };
    uint32_t count;
    if (poll(&wanted, 1, PATIENCE_MS) != 1 || read(device, &count, sizeof count) != sizeof count) {
        printf("no interrupt\n");
        return 1;
    }
    uint32_t status = registers[STATUS / 4];
    write_register(STATUS, 1);
    for (uint32_t i = 0; i < NUMBERS; i++)
        if (sum[i] != 0x80000000 + 2 * i) {
            printf("number %u is %08x\n", i, sum[i]);
            return 1;
        }
    printf("%d numbers are added in %u cycles, status %u, then %u\n", NUMBERS, registers[CYCLES / 4], status,
           registers[STATUS / 4]);
    return 0;
}
