#include "script.h"

/* Long enough for a busy host. */
#define PATIENCE 40

static void say_text(const char *text)
{
    uint32_t length = 0;
    while (text[length])
        length++;
    say(text, length);
}

static void say_number(uint32_t number)
{
    char text[11] = "0x";
    for (int digit = 0; digit < 8; digit++)
        text[2 + digit] = "0123456789abcdef"[number >> (28 - 4 * digit) & 15];
    say(text, 10);
}

static void say_time(const char *what, uint64_t time)
{
    char text[22];
    uint32_t at = sizeof text;
    say_text(what);
    text[--at] = '\n';
    do {
        text[--at] = (char)('0' + time % 10);
        time /= 10;
    } while (time);
    say(text + at, sizeof text - at);
}

static int fail(const char *what, uint32_t where, uint32_t found, uint32_t expected)
{
    say_text("FAIL: ");
    say_text(what);
    say_text(" at ");
    say_number(where);
    say_text(" is ");
    say_number(found);
    say_text(", not ");
    say_number(expected);
    say_text("\n");
    return 1;
}

/* Bits of the status that have come, and that no step has asked for yet. */
static uint32_t came;
/* When the last write was made, and the last interrupt and the last change of memory came. */
static uint64_t written_at, interrupted_at, changed_at;

static int interrupts(uint32_t wanted)
{
    for (uint32_t count = 0; (came & wanted) != wanted; count++) {
        uint32_t status = 0;
        if (!wait_for_interrupt())
            return fail("no interrupt: status", interrupt_status, came, wanted);
        interrupted_at = now();
        if (!read_register(interrupt_status, &status))
            return fail("bus error: status", interrupt_status, came, wanted);
        registers[interrupt_status / 4] = status;
        interrupt_served();
        if (!status || came & status || count > 32)
            return fail("spurious or twice: status", interrupt_status, status, wanted);
        came |= status;
    }
    came &= ~wanted;
    return 0;
}

static int check(uint64_t address, const unsigned char *expected, uint32_t length)
{
    const volatile unsigned char *found = memory(address, length);
    for (uint32_t at = 0; at < length; at++)
        if (found[at] != expected[at])
            return fail("memory", (uint32_t)address + at, found[at], expected[at]);
    return 0;
}

static void load(uint64_t address, const unsigned char *bytes, uint32_t length)
{
    volatile unsigned char *to = memory(address, length);
    for (uint32_t at = 0; at < length; at++)
        to[at] = bytes[at];
}

static int until(uint32_t offset, int answer)
{
    uint32_t value;
    start_clock();
    while (read_register(offset, &value) != answer)
        if (seconds_are_over(PATIENCE))
            return fail("answers of the register", offset, !answer, answer);
    say_text(answer ? "answered\n" : "bus error\n");
    return 0;
}

static int sleep_until_error(uint32_t offset)
{
    uint32_t value;
    say_text("sleeping\n");
    do
        sleep_a_second();
    while (read_register(offset, &value));
    say_text("bus error\n");
    return 0;
}

static int watch(uint64_t address)
{
    const volatile uint32_t *word = memory(address, 4);
    uint32_t before = *word;
    start_clock();
    while (*word == before)
        if (seconds_are_over(PATIENCE))
            return fail("no change: memory", (uint32_t)address, before, ~before);
    changed_at = now();
    return 0;
}

static int read_times(uint32_t offset, uint32_t count)
{
    enum { MOST = 64 };
    uint64_t times[MOST];
    uint32_t value;
    if (count > MOST)
        return fail("reads", offset, count, MOST);
    for (uint32_t at = 0; at < count; at++) {
        if (!read_register(offset, &value))
            return fail("bus error: register", offset, 0, 0);
        times[at] = now();
    }
    for (uint32_t at = 1; at < count; at++)
        say_time("read ", times[at] - times[at - 1]);
    return 0;
}

static int reads(uint32_t offset, uint32_t count)
{
    uint32_t value;
    uint64_t began = now();
    for (uint32_t at = 0; at < count; at++)
        if (!read_register(offset, &value))
            return fail("bus error: register", offset, 0, 0);
    say_time("reads ", now() - began);
    return 0;
}

static int writes(uint32_t offset, uint32_t count)
{
    uint32_t value;
    uint64_t began = now();
    for (uint32_t at = 0; at < count; at++)
        registers[offset / 4] = 0;
    /* Which is answered when all writes have arrived. */
    if (!read_register(offset, &value))
        return fail("bus error: register", offset, 0, 0);
    say_time("writes ", now() - began);
    return 0;
}

static int run(const uint32_t *script)
{
    int failed = 0;
    while (!failed) {
        uint64_t address = script[1] | (uint64_t)script[2] << 32;
        const unsigned char *data = (const unsigned char *)(script + 4);
        uint32_t value = 0;
        switch (script[0]) {
        case STEP_END:
            return came ? fail("too many interrupts: status", interrupt_status, came, 0) : 0;
        case STEP_WRITE:
            registers[script[1] / 4] = script[2];
            written_at = now();
            script += 3;
            break;
        case STEP_READ:
            if (!read_register(script[1], &value) || value != script[2])
                failed = fail("register", script[1], value, script[2]);
            script += 3;
            break;
        case STEP_INTERRUPTS:
            failed = interrupts(script[1]);
            script += 2;
            break;
        case STEP_LOAD:
            load(address, data, script[3]);
            script += 4 + (script[3] + 3) / 4;
            break;
        case STEP_CHECK:
            failed = check(address, data, script[3]);
            script += 4 + (script[3] + 3) / 4;
            break;
        case STEP_SAY:
            say((const char *)(script + 2), script[1]);
            script += 2 + (script[1] + 3) / 4;
            break;
        case STEP_RESTART:
            if (!is_restarted())
                restart();
            script += 1;
            break;
        case STEP_UNTIL_ERROR:
            failed = until(script[1], 0);
            script += 2;
            break;
        case STEP_UNTIL_ANSWER:
            failed = until(script[1], 1);
            script += 2;
            break;
        case STEP_READ_TIMES:
            failed = read_times(script[1], script[2]);
            script += 3;
            break;
        case STEP_TIMES:
            say_time("now ", now());
            say_time("written ", written_at);
            say_time("interrupted ", interrupted_at);
            say_time("changed ", changed_at);
            script += 1;
            break;
        case STEP_WATCH:
            failed = watch(address);
            script += 3;
            break;
        case STEP_SLEEP:
            failed = sleep_until_error(script[1]);
            script += 2;
            break;
        case STEP_READS:
            failed = reads(script[1], script[2]);
            script += 3;
            break;
        case STEP_WRITES:
            failed = writes(script[1], script[2]);
            script += 3;
            break;
        case STEP_HEAR:
            hear();
            script += 1;
            break;
        default:
            failed = fail("step", 0, script[0], STEP_END);
        }
    }
    return failed;
}

int run_script(const uint32_t *script)
{
    /* The script's first word says where the interrupts' status is. */
    interrupt_status = script[0];
    int failed = run(script + 1);
    if (!failed)
        say_text("PASS\n");
    return failed;
}
