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
#define _FILE_OFFSET_BITS 64
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

/* An errno follows what a call of the system says. */
static void fail(const char *what)
{
    printf("FAIL: %s: %m\n", what);
    exit(1);
}

static void refuse(const char *what)
{
    printf("FAIL: %s\n", what);
    exit(1);
}

/*
 * What was written before is in memory, and what was read before has been read, before anything that comes behind: between
 * memory and registers the processor's own order of memory accesses does not say enough.
 */
static void barrier(void)
{
#if defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("dsb sy" ::: "memory");
#elif defined(__riscv)
    __asm__ volatile("fence iorw, iorw" ::: "memory");
#else
    __sync_synchronize();
#endif
}

static uint32_t get(uint32_t address)
{
    return csr[address / 4];
}

static void put(uint32_t address, uint32_t value)
{
    csr[address / 4] = value;
}

/* The memory is mapped as a device's: a byte at a time is always right. Places were checked before (`place`). */
static void load(uint64_t at, const unsigned char *bytes, uint64_t length)
{
    for (uint64_t byte = 0; byte < length; byte++)
        memory[at + byte] = bytes[byte];
}

static int is_there(uint64_t at, const unsigned char *expected, uint32_t length)
{
    for (uint32_t byte = 0; byte < length; byte++)
        if (memory[at + byte] != expected[byte])
            return 0;
    return 1;
}

/* Where everything lies, in bytes behind the pool's first one. */
struct places {
    uint64_t filters, intermediate, io, output, end;
};

/* Reads a bundle's header, and refuses one that is not as long as it says, or whose parts overlap. */
static struct header check(const unsigned char *bundle, uint64_t length)
{
    struct header it;
    if (length < sizeof it)
        refuse("the bundle is shorter than its header");
    memcpy(&it, bundle, sizeof it);
    if (memcmp(it.magic, "VPIB", 4))
        refuse("no bundle");
    /* A word of memory has a power of two of bytes; a configuration has two words at least. */
    if (it.memory_word < 4 || it.memory_word > 4096 || it.memory_word & (it.memory_word - 1) || it.config_words < 2)
        refuse("the bundle's header makes no sense");
    /* Of 32 bits each: neither products nor sums can run over. */
    uint64_t model = sizeof it + 8 * (uint64_t)it.config_words + it.filter_bytes;
    uint64_t each = (uint64_t)it.input_bytes + it.output_bytes;
    if (length < model || !it.count || !each || (length - model) / it.count != each || (length - model) % it.count)
        refuse("the bundle is not as long as its header says");
    if (it.filters_at < 8 * (uint64_t)it.config_words || it.output_at < it.input_bytes)
        refuse("parts of the bundle overlap in memory");
    if (it.filters_at % it.memory_word || it.output_at % it.memory_word)
        refuse("parts of the bundle are at no multiple of a memory word");
    return it;
}

static struct places place(const struct header *it)
{
    uint64_t word = it->memory_word;
    struct places at = { .filters = it->filters_at };
    at.intermediate = (at.filters + it->filter_bytes + word - 1) / word * word;
    at.io = (at.intermediate + it->intermediate_bytes + word - 1) / word * word;
    at.output = at.io + it->output_at;
    at.end = at.output + it->output_bytes;
    return at;
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
    if (argc < 4) {
        fprintf(stderr, "usage: %s /dev/uio0 BUNDLE ADDRESS\n", argv[0]);
        return 2;
    }
    struct stat size;
    int file = open(argv[2], O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &size))
        fail("the bundle");
    const unsigned char *bundle = mmap(NULL, (size_t)size.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bundle == MAP_FAILED)
        fail("mapping the bundle");
    const struct header it = check(bundle, (uint64_t)size.st_size);
    const unsigned char *config = bundle + sizeof it;
    const unsigned char *filters = config + 8 * (uint64_t)it.config_words;
    const unsigned char *inputs = filters + it.filter_bytes;
    const unsigned char *outputs = inputs + (uint64_t)it.count * it.input_bytes;

    /* All of it has 32 bits of address, and is at whole words and pages. */
    char *end;
    unsigned long long address = strtoull(argv[3], &end, 0);
    struct places at = place(&it);
    uint64_t pool_bytes = (at.end + 0xfff) / 0x1000 * 0x1000;
    if (*end || end == argv[3] || address % 0x1000 || address >= 1ull << 32 || pool_bytes > (1ull << 32) - address)
        refuse("ADDRESS: a page below 4 GiB, with room for the bundle's model behind it");
    pool = (uint32_t)address;

    int device = open(argv[1], O_RDWR | O_CLOEXEC);
    int all_memory = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
    if (device < 0 || all_memory < 0)
        fail("the device or memory");
    csr = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, device, 0);
    memory = mmap(NULL, (size_t)pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, all_memory, (off_t)address);
    if (csr == MAP_FAILED || memory == MAP_FAILED)
        fail("mapping");

    /* A model is for one architecture. */
    for (int word = 0; word < 4; word++)
        if (get(HASH + 4 * word) != it.hash[word])
            refuse("the IP is of another architecture");
    put(IP_RESET, 1);
    load(0, config, 8 * (uint64_t)it.config_words);
    load(at.filters, filters, it.filter_bytes);
    put(INTERMEDIATE_BASE, pool + (uint32_t)at.intermediate);
    put(INTERRUPT_MASK, ERROR | COMPLETE);

    uint32_t right = 0;
    for (uint32_t one = 0; one < it.count; one++) {
        load(at.io, inputs + (uint64_t)one * it.input_bytes, it.input_bytes);
        put(CONFIG_BASE, pool);
        put(CONFIG_WORDS, it.config_words - 2);
        /* The IP may read as soon as the request is there: all it reads is in memory before. */
        barrier();
        put(IO_BASE, pool + (uint32_t)at.io);
        uint32_t status = wait_for_interrupt(device);
        if (status != COMPLETE || get(COMPLETION_COUNT) != one + 1) {
            printf("status %x, diagnostics %x\n", status, get(DIAGNOSTICS));
            refuse("an inference");
        }
        /* The output is in memory before the interrupt: it is not read before that has been seen. */
        barrier();
        right += is_there(at.output, outputs + (uint64_t)one * it.output_bytes, it.output_bytes);
    }
    printf("%u inferences, %u as expected\n", it.count, right);
    printf(right == it.count ? "PASS\n" : "FAIL\n");
    return right != it.count;
}
