// A CPU at the pins of a platform, edge by edge: it raises interrupts, waits for the line, and clears them. A line for each: when, and its status.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "vp.h"

// Registers of GLB, by their byte addresses.
enum { S_INTR_SET = 0x1008, S_INTR_STATUS = 0x100c };
enum { INTERRUPTS = 40, RESET_EDGES = 16 };

static vp_partner *partner;
static int32_t registers, line;
static bool level;

static void check(vp_status status)
{
    if (status != VP_STATUS_OK) {
        fprintf(stderr, "%d: %s\n", (int)status, vp_error(partner));
        exit(1);
    }
}

// An edge: what this side drives is sampled, and what the platform drives is seen.
static vp_register_target_pins edge(const vp_register_initiator_pins *driven)
{
    vp_register_target_pins seen;
    check(vp_register_initiator_sample(partner, registers, driven));
    check(vp_line_sink_sample(partner, line));
    check(vp_register_initiator_seen(partner, registers, &seen));
    check(vp_line_sink_seen(partner, line, &level));
    return seen;
}

static void wait_for_line(bool wanted)
{
    const vp_register_initiator_pins idle = { .valid = false };
    while (level != wanted)
        edge(&idle);
}

// An access, up to the edge that sees its answer.
static uint32_t access_register(vp_register_initiator_pins pins)
{
    for (;;) {
        const vp_register_target_pins seen = edge(&pins);
        if (seen.ready)
            pins.valid = false;
        if (seen.read_valid || seen.write_complete)
            return seen.value;
    }
}

static uint32_t read_register(uint32_t address)
{
    return access_register((vp_register_initiator_pins){ .valid = true, .address = address });
}

static void write_register(uint32_t address, uint32_t value)
{
    access_register((vp_register_initiator_pins){ .valid = true, .write = true, .address = address, .value = value });
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    partner = vp_connect(arguments[1], VP_REACTION_NEXT_EDGE, 0, RESET_EDGES);
    if (!partner) {
        fprintf(stderr, "%s\n", vp_error(NULL));
        return 1;
    }
    registers = vp_register_initiator(partner, "csb0");
    line = vp_line_sink(partner, "irq0");
    if (registers < 0 || line < 0)
        check(VP_STATUS_ERROR);
    for (int number = 0; number < INTERRUPTS; number++) {
        write_register(S_INTR_SET, UINT32_C(1) << number % 6);
        wait_for_line(true);
        const uint32_t status = read_register(S_INTR_STATUS);
        write_register(S_INTR_STATUS, status);
        wait_for_line(false);
        printf("%" PRIu64 " ps: %#" PRIx32 "\n", vp_time(partner), status);
    }
    vp_close(partner);
    return 0;
}
