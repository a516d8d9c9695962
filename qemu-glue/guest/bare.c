/* A guest without an operating system on QEMU's `virt`: finds the device in the device tree, hears its interrupt through
 * the GIC (version 2), and runs the script that lies in memory. */

#include "script.h"

/* hw/arm/virt.c's map, and where the test puts the script. */
#define DEVICE_TREE ((const unsigned char *)0x40000000)
#define SCRIPT ((const uint32_t *)0x48000000)
#define RESTARTED ((volatile uint32_t *)0x47000000)
#define UART ((volatile uint32_t *)0x09000000)
#define GICD ((volatile uint32_t *)0x08000000)
#define GICC ((volatile uint32_t *)0x08010000)

/* Offsets in words. */
enum { GICD_CTLR = 0, GICD_ISENABLER = 0x100 / 4, GICD_ITARGETSR = 0x800 / 4 };
enum { GICC_CTLR = 0, GICC_PMR = 1, GICC_IAR = 3, GICC_EOIR = 4 };
enum { NO_INTERRUPT = 1023 };
/* Of the PL011. */
enum { UART_FLAGS = 0x18 / 4, UART_EMPTY = 1 << 4 };

/* PSCI. */
#define SYSTEM_OFF 0x84000008
#define SYSTEM_RESET 0x84000009

volatile uint32_t *registers;
uint32_t interrupt_status;
volatile uint32_t faults;
static uint32_t interrupt, acknowledged;
static uint64_t clock_start;

void firmware(uint32_t function);

void say(const char *text, uint32_t length)
{
    for (uint32_t at = 0; at < length; at++)
        *UART = (unsigned char)text[at];
}

void hear(void)
{
    while (UART[UART_FLAGS] & UART_EMPTY)
        ;
    (void)*UART;
}

static uint32_t big(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

static int is(const char *one, const char *other)
{
    while (*one && *one == *other)
        one++, other++;
    return *one == *other;
}

static int begins(const unsigned char *text, const char *wanted)
{
    while (*wanted && *wanted == (char)*text)
        wanted++, text++;
    return !*wanted;
}

/* Finds the node whose `compatible` begins with the name of one of our devices, and takes its first `reg` and `interrupts`. */
static int find_device(void)
{
    enum { BEGIN = 1, END, PROPERTY, NOTHING };
    const unsigned char *at = DEVICE_TREE + big(DEVICE_TREE + 8);
    const char *names = (const char *)DEVICE_TREE + big(DEVICE_TREE + 12);
    uint64_t address = 0;
    uint32_t line = 0, is_device = 0;
    if (big(DEVICE_TREE) != 0xd00dfeed)
        return 0;
    for (;;) {
        uint32_t token = big(at), length;
        const unsigned char *value;
        at += 4;
        switch (token) {
        case BEGIN:
            while (*at)
                at++;
            at = (const unsigned char *)(((uintptr_t)at + 4) & ~(uintptr_t)3);
            is_device = 0;
            break;
        case END:
            if (is_device) {
                registers = (volatile uint32_t *)address;
                interrupt = line;
                return 1;
            }
            break;
        case PROPERTY:
            length = big(at);
            value = at + 8;
            if (is(names + big(at + 4), "compatible")) {
                is_device |= begins(value, "nvidia,nv") || begins(value, "intel,fpga-ai-suite");
            } else if (is(names + big(at + 4), "reg") && length >= 8) {
                address = (uint64_t)big(value) << 32 | big(value + 4);
            } else if (is(names + big(at + 4), "interrupts") && length >= 12) {
                line = big(value + 4) + 32;
            }
            at = value + ((length + 3) & ~3u);
            break;
        case NOTHING:
            break;
        default:
            return 0;
        }
    }
}

int read_register(uint32_t offset, uint32_t *value)
{
    uint32_t before = faults, word;
    word = registers[offset / 4];
    *value = word;
    return faults == before;
}

void *memory(uint64_t address, uint32_t length)
{
    (void)length;
    return (void *)address;
}

static uint64_t ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

uint64_t now(void)
{
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    return ticks() * (1000000000 / frequency);
}

void sleep_a_second(void)
{
    /* The virtual timer's interrupt, private to the CPU. It wakes the CPU, which has interrupts masked, and is taken back. */
    enum { TIMER = 27 };
    uint64_t frequency, until;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    until = ticks() + frequency;
    GICD[GICD_ISENABLER] = 1u << TIMER;
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb" : : "r"(until), "r"((uint64_t)1));
    while (ticks() < until)
        __asm__ volatile("wfi");
    __asm__ volatile("msr cntv_ctl_el0, %0\n\tisb" : : "r"((uint64_t)0));
}

void start_clock(void)
{
    clock_start = ticks();
}

int seconds_are_over(unsigned seconds)
{
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    return ticks() - clock_start > seconds * frequency;
}

int wait_for_interrupt(void)
{
    start_clock();
    for (;;) {
        acknowledged = GICC[GICC_IAR];
        if ((acknowledged & 1023) == interrupt)
            return 1;
        if ((acknowledged & 1023) != NO_INTERRUPT || seconds_are_over(40))
            return 0;
        __asm__ volatile("yield");
    }
}

void interrupt_served(void)
{
    uint32_t status;
    /* The write that cleared the status has arrived when a read behind it is answered. */
    read_register(interrupt_status, &status);
    GICC[GICC_EOIR] = acknowledged;
}

int is_restarted(void)
{
    return *RESTARTED == 0x52535452;
}

void restart(void)
{
    *RESTARTED = 0x52535452;
    firmware(SYSTEM_RESET);
}

void start(void)
{
    if (find_device()) {
        GICD[GICD_ISENABLER + interrupt / 32] = 1u << interrupt % 32;
        ((volatile unsigned char *)(GICD + GICD_ITARGETSR))[interrupt] = 1;
        GICD[GICD_CTLR] = 1;
        GICC[GICC_PMR] = 0xff;
        GICC[GICC_CTLR] = 1;
        run_script(SCRIPT);
    } else {
        say("FAIL: no device in the device tree\n", 35);
    }
    firmware(SYSTEM_OFF);
}
