/* A guest without an operating system on a PC, for QEMU's TCG and KVM and for cloud-hypervisor: finds the device as a PCI function, and runs
 * the script that the loader has left as a module. The processor takes no interrupts: the guest looks into the interrupt controllers for
 * them, so that it needs nothing of a processor that some kinds of KVM do not have without a kernel made for them. */

#include "script.h"

/* The interrupt controllers of a PC: Intel 8259A, of which this is the second; and the processor's own (Intel SDM 3A, "APIC"). */
enum { SECOND_8259 = 0xa0, POLL = 0x0c, END_OF_INTERRUPT = 0x20, POLLED = 0x80 };
#define APIC ((volatile uint32_t *)0xfee00000)
enum { APIC_SPURIOUS = 0xf0 / 4, APIC_REQUESTED = 0x200 / 4, APIC_ENABLED = 1 << 8 };
/* The I/O APIC (Intel 82093AA): a register is chosen by the first word, and accessed by the fifth. */
#define IO_APIC ((volatile uint32_t *)0xfec00000)
enum { IO_APIC_DATA = 4, IO_APIC_PINS = 24, IO_APIC_TABLE = 0x10 };
/* The serial port; the timer and the switch of ACPI where SeaBIOS puts them, the reset of the chipset. */
enum { SERIAL = 0x3f8, SERIAL_STATUS = SERIAL + 5, SERIAL_READY = 1 << 5, SERIAL_HEARD = 1 };
enum { POWER = 0x604, POWER_OFF = 0x2000, TIMER = 0x608, TIMER_FREQUENCY = 3579545, RESET = 0xcf9, RESET_ALL = 6 };
/* Of a machine without the chipset, where cloud-hypervisor has it: sleep control (ACPI 6.4, 4.8.3.7), its state "off", and its reset. */
enum { SLEEP = 0x600, SLEEP_OFF = 5 << 2 | 1 << 5, SLEEP_RESET = 1 };
/* Of the configuration: PCI Local Bus Specification 3.0, 6.2 and 6.8. */
enum { CONFIGURATION_ADDRESS = 0xcf8, CONFIGURATION_DATA = 0xcfc, ENABLE = 1u << 31 };
enum { COMMAND = 4, BARS = 0x10, CAPABILITIES = 0x34, INTERRUPT_LINE = 0x3c };
enum { MEMORY_SPACE = 1 << 1, BUS_MASTER = 1 << 2, INTERRUPT_STATUS = 1 << 19 };
enum { MSI = 5, MSIX = 0x11, MSI_ENABLE = 1 << 16, MSIX_ENABLE = 1u << 31 };
#define RESTARTED ((volatile uint32_t *)0x7000000)

/* Multiboot 1. */
struct boot {
    uint32_t flags, memory[2], device;
    const char *line;
    uint32_t modules;
    const struct module {
        const uint32_t *start, *end;
    } *module;
};

/* PVH (Xen, xen/include/public/arch-x86/hvm/start_info.h): what it begins with, and where it says what Multiboot does. */
enum { PVH = 0x336ec578 };
struct pvh {
    uint32_t magic, version, flags, modules;
    uint64_t module, line;
};

volatile uint32_t *registers;
uint32_t interrupt_status;
static uint32_t slot, line;
/* The capability by which interrupts are messages, if they are, and the vector of the next; the table of MSI-X. */
static uint32_t messages, vector;
/* Nonzero where the line is one of the I/O APIC's, which makes messages of it too. */
static int redirected;
static volatile uint32_t *table;
/* Nonzero where the line was still up when the last interrupt had been served. */
static int line_stays;
static uint64_t clock_start;

static void out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static void out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port));
}

static void out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static uint8_t in8(uint16_t port)
{
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static uint32_t in32(uint16_t port)
{
    uint32_t value;
    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

/* What the compiler calls for divisions of 64 bits, which a library for 32 bits would have. */
uint64_t __udivmoddi4(uint64_t number, uint64_t by, uint64_t *rest)
{
    uint64_t quotient = 0, left = 0;
    for (int bit = 63; bit >= 0; bit--) {
        left = left << 1 | (number >> bit & 1);
        if (left >= by) {
            left -= by;
            quotient |= (uint64_t)1 << bit;
        }
    }
    if (rest)
        *rest = left;
    return quotient;
}

uint64_t __udivdi3(uint64_t number, uint64_t by)
{
    return __udivmoddi4(number, by, 0);
}

uint64_t __umoddi3(uint64_t number, uint64_t by)
{
    uint64_t rest;
    __udivmoddi4(number, by, &rest);
    return rest;
}

void say(const char *text, uint32_t length)
{
    for (uint32_t at = 0; at < length; at++) {
        while (!(in8(SERIAL_STATUS) & SERIAL_READY))
            ;
        out8(SERIAL, (uint8_t)text[at]);
    }
}

void hear(void)
{
    while (!(in8(SERIAL_STATUS) & SERIAL_HEARD))
        ;
    in8(SERIAL);
}

static uint32_t configuration(uint32_t of, uint32_t at)
{
    out32(CONFIGURATION_ADDRESS, ENABLE | of << 11 | at);
    return in32(CONFIGURATION_DATA);
}

static void configure(uint32_t at, uint32_t value)
{
    out32(CONFIGURATION_ADDRESS, ENABLE | slot << 11 | at);
    out32(CONFIGURATION_DATA, value);
}

/* Where a capability is in the configuration; 0: nowhere. */
static uint32_t capability(uint32_t wanted)
{
    uint32_t at = configuration(slot, CAPABILITIES) & 0xff;
    while (at && (configuration(slot, at) & 0xff) != wanted)
        at = configuration(slot, at) >> 8 & 0xff;
    return at;
}

static int find_device(void)
{
    for (slot = 0; slot < 32; slot++)
        if (configuration(slot, 0) == 0x10f01af4)
            break;
    if (slot == 32)
        return 0;
    registers = (volatile uint32_t *)(uintptr_t)(configuration(slot, BARS) & ~15u);
    line = configuration(slot, INTERRUPT_LINE) & 0xff;
    configure(COMMAND, MEMORY_SPACE | BUS_MASTER);
    return !!registers;
}

/* Sets the vector of the next message: that of the last one cannot come again before a processor has taken it. */
static void set_vector(void)
{
    vector++;
    if (redirected) {
        /* Whichever pin it is, nobody else raises one; each rise is a message for the first processor. */
        for (uint32_t pin = 0; pin < IO_APIC_PINS; pin++) {
            IO_APIC[0] = IO_APIC_TABLE + 2 * pin + 1;
            IO_APIC[IO_APIC_DATA] = 0;
            IO_APIC[0] = IO_APIC_TABLE + 2 * pin;
            IO_APIC[IO_APIC_DATA] = vector;
        }
    } else if ((configuration(slot, messages) & 0xff) == MSI) {
        configure(messages + 12, vector);
    } else {
        table[3] = 1;
        table[2] = vector;
        table[3] = 0;
    }
}

static int has_word(const char *text, const char *word)
{
    for (; *text; text++) {
        int at = 0;
        while (word[at] && text[at] == word[at])
            at++;
        if (!word[at] && (!text[at] || text[at] == ' '))
            return 1;
    }
    return 0;
}

static int set_interrupts(const char *options)
{
    int is_msix = has_word(options, "messages=msi-x");
    if (has_word(options, "controller=io-apic")) {
        redirected = 1;
        APIC[APIC_SPURIOUS] = APIC_ENABLED | 0xff;
        vector = 0x40;
        set_vector();
        return 1;
    }
    if (!is_msix && !has_word(options, "messages=msi")) {
        if (line < 8 || line >= 16)
            return 0;
        /* Of the second controller this line alone is heeded, of the first none. */
        out8(SECOND_8259 + 1, (uint8_t)~(1u << (line - 8)));
        out8(0x21, 0xff);
        return 1;
    }
    messages = capability(is_msix ? MSIX : MSI);
    if (!messages)
        return 0;
    APIC[APIC_SPURIOUS] = APIC_ENABLED | 0xff;
    vector = 0x40;
    if (is_msix) {
        uint32_t where = configuration(slot, messages + 4);
        table = (volatile uint32_t *)(uintptr_t)((configuration(slot, BARS + 4 * (where & 7)) & ~15u) + (where & ~7u));
        table[0] = (uint32_t)(uintptr_t)APIC;
        table[1] = 0;
    } else {
        configure(messages + 4, (uint32_t)(uintptr_t)APIC);
        configure(messages + 8, 0);
    }
    set_vector();
    configure(messages, configuration(slot, messages) | (is_msix ? MSIX_ENABLE : MSI_ENABLE));
    return 1;
}

int read_register(uint32_t offset, uint32_t *value)
{
    *value = registers[offset / 4];
    return *value != 0xffffffff;
}

void *memory(uint64_t address, uint32_t length)
{
    (void)length;
    return (void *)(uintptr_t)address;
}

/* The timer has 24 bits: it is looked at more often than it begins again. */
static uint64_t ticks(void)
{
    static uint32_t last;
    static uint64_t ticks;
    uint32_t now = in32(TIMER) & 0xffffff;
    ticks += (now - last) & 0xffffff;
    last = now;
    return ticks;
}

uint64_t now(void)
{
    return ticks() * 1000000000 / TIMER_FREQUENCY;
}

void start_clock(void)
{
    clock_start = ticks();
}

int seconds_are_over(unsigned seconds)
{
    return ticks() - clock_start > (uint64_t)seconds * TIMER_FREQUENCY;
}

void sleep_a_second(void)
{
    start_clock();
    while (!seconds_are_over(1))
        ;
}

void interrupt_served(void)
{
    uint32_t status;
    /* The write that cleared the status has arrived when a read behind it is answered. */
    read_register(interrupt_status, &status);
    if (messages || redirected)
        return;
    out8(SECOND_8259, END_OF_INTERRUPT);
    /* The 8259A of KVM forgets a request that is polled although its line stays up (Linux, arch/x86/kvm/i8259.c, pic_poll_read): what is
     * raised before a status is cleared would never be told. */
    line_stays = status && configuration(slot, COMMAND) & INTERRUPT_STATUS;
}

static int has_interrupt(void)
{
    if (messages || redirected) {
        if (!(APIC[APIC_REQUESTED + vector / 32 * 4] >> vector % 32 & 1))
            return 0;
        /* So that what comes from now on is another one. */
        set_vector();
    } else {
        out8(SECOND_8259, POLL);
        if (in8(SECOND_8259) != (POLLED | (line - 8)) && !line_stays)
            return 0;
    }
    if (configuration(slot, COMMAND) & INTERRUPT_STATUS)
        return 1;
    /* It came for what was served with the last one. */
    interrupt_served();
    return 0;
}

int wait_for_interrupt(void)
{
    start_clock();
    while (!has_interrupt())
        if (seconds_are_over(40))
            return 0;
    return 1;
}

int is_restarted(void)
{
    return *RESTARTED == 0x52535452;
}

void restart(void)
{
    *RESTARTED = 0x52535452;
    out8(RESET, RESET_ALL);
    out8(SLEEP, SLEEP_RESET);
    for (;;)
        ;
}

void start(const struct boot *boot)
{
    const uint32_t *script;
    const char *options = boot->line;
    if (boot->flags == PVH) {
        const struct pvh *pvh = (const struct pvh *)boot;
        script = (const uint32_t *)(uintptr_t) * (const uint64_t *)(uintptr_t)pvh->module;
        options = (const char *)(uintptr_t)pvh->line;
    } else {
        script = boot->module->start;
    }
    if (!find_device())
        say("FAIL: no PCI function\n", 22);
    else if (!set_interrupts(options))
        say("FAIL: no such interrupts\n", 25);
    else
        run_script(script);
    out16(POWER, POWER_OFF);
    out8(SLEEP, SLEEP_OFF);
}
