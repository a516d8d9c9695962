/*
 * A small host program for the FPGA AI Suite's inference IP, on a Linux whose kernel gives it the IP through
 * uio_pdrv_genirq: in a guest of QEMU, or on a board.
 *
 *   aarch64-linux-gnu-gcc -O1 -static inference.c -o inference
 *   ./inference /dev/uio0 digits.bundle 0x80000000
 *
 * The bundle holds a model, inputs and what must come out (`fpga_ai_suite --bundle FILE` of the examples writes one); the address
 * is that of memory which the kernel leaves alone, as a `reserved-memory` node says.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The CSR block: byte addresses. */
enum {
    HASH = 0x000,
    INTERRUPT_CONTROL = 0x200,
    INTERRUPT_MASK = 0x204,
    CONFIG_BASE = 0x210,
    CONFIG_WORDS = 0x214,
    IO_BASE = 0x218,
    DIAGNOSTICS = 0x21c,
    INTERMEDIATE_BASE = 0x220,
    COMPLETION_COUNT = 0x224,
    IP_RESET = 0x228,
    WINDOW = 0x800,
};
enum { ERROR = 1, COMPLETE = 2 };

/* Bytes of memory that are mapped. */
#define POOL 0x1000000

/* A bundle begins so; all is little endian. */
struct header {
    char magic[4];
    uint32_t hash[4];
    uint32_t memory_word, config_words, filters_at, filter_bytes, intermediate_bytes;
    uint32_t input_bytes, output_at, output_bytes, count;
};

static volatile uint32_t *csr;
static volatile unsigned char *memory;
static uint32_t pool;

static void fail(const char *what)
{
    printf("FAIL: %s: %m\n", what);
    exit(1);
}

static uint32_t get(uint32_t address)
{
    return csr[address / 4];
}

static void put(uint32_t address, uint32_t value)
{
    csr[address / 4] = value;
}

/* The memory is mapped as a device's: a byte at a time is always right. */
static void load(uint32_t address, const unsigned char *bytes, uint32_t length)
{
    if (address - pool > POOL || length > POOL - (address - pool))
        fail("more than there is memory");
    for (uint32_t at = 0; at < length; at++)
        memory[address - pool + at] = bytes[at];
}

static int is_there(uint32_t address, const unsigned char *expected, uint32_t length)
{
    for (uint32_t at = 0; at < length; at++)
        if (memory[address - pool + at] != expected[at])
            return 0;
    return 1;
}

/* Waits for the interrupt and serves it. Says what had happened. */
static uint32_t wait_for_interrupt(int device)
{
    uint32_t count, enable = 1;
    if (read(device, &count, sizeof count) != sizeof count)
        fail("no interrupt");
    uint32_t status = get(INTERRUPT_CONTROL);
    put(INTERRUPT_CONTROL, status);
    /* The driver has switched the interrupt off; the line is low again. */
    if (write(device, &enable, sizeof enable) != sizeof enable)
        fail("the interrupt cannot be enabled");
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s /dev/uio0 BUNDLE ADDRESS\n", argv[0]);
        return 2;
    }
    int device = open(argv[1], O_RDWR | O_CLOEXEC);
    int file = open(argv[2], O_RDONLY | O_CLOEXEC);
    int all_memory = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
    struct stat size;
    pool = (uint32_t)strtoul(argv[3], NULL, 0);
    if (device < 0 || file < 0 || all_memory < 0 || fstat(file, &size))
        fail("the device, the bundle or memory");
    csr = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, device, 0);
    memory = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_SHARED, all_memory, pool);
    const unsigned char *bundle = mmap(NULL, (size_t)size.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (csr == MAP_FAILED || memory == MAP_FAILED || bundle == MAP_FAILED)
        fail("mapping");

    struct header it;
    memcpy(&it, bundle, sizeof it);
    if (memcmp(it.magic, "VPIB", 4))
        fail("no bundle");
    const unsigned char *config = bundle + sizeof it;
    const unsigned char *filters = config + 8 * it.config_words;
    const unsigned char *inputs = filters + it.filter_bytes;
    const unsigned char *outputs = inputs + it.count * it.input_bytes;

    /* A model is for one architecture. */
    for (int word = 0; word < 4; word++)
        if (get(HASH + 4 * word) != it.hash[word])
            fail("the IP is of another architecture");
    put(IP_RESET, 1);
    load(pool, config, 8 * it.config_words);
    load(pool + it.filters_at, filters, it.filter_bytes);
    uint32_t intermediate = pool + it.filters_at + (it.filter_bytes + it.memory_word - 1) / it.memory_word * it.memory_word;
    uint32_t io = intermediate + it.intermediate_bytes;
    put(INTERMEDIATE_BASE, intermediate);
    put(INTERRUPT_MASK, ERROR | COMPLETE);

    uint32_t right = 0;
    for (uint32_t one = 0; one < it.count; one++) {
        load(io, inputs + one * it.input_bytes, it.input_bytes);
        put(CONFIG_BASE, pool);
        put(CONFIG_WORDS, it.config_words - 2);
        put(IO_BASE, io);
        uint32_t status = wait_for_interrupt(device);
        if (status != COMPLETE || get(COMPLETION_COUNT) != one + 1) {
            printf("status %x, diagnostics %x\n", status, get(DIAGNOSTICS));
            fail("an inference");
        }
        right += is_there(io + it.output_at, outputs + one * it.output_bytes, it.output_bytes);
    }
    printf("%u inferences, %u as expected\n", it.count, right);
    printf(right == it.count ? "PASS\n" : "FAIL\n");
    return right != it.count;
}
