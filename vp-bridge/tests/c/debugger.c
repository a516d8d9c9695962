// A debugger in C beside a program that runs a layer: what it sees, a line each.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vp.h"

static vp_debugger *debugger;

static void check(const char *what, vp_status status)
{
    if (status != VP_STATUS_OK) {
        fprintf(stderr, "%s: %d: %s\n", what, (int)status, vp_debugger_error(debugger));
        exit(1);
    }
}

static vp_stop next_stop(void)
{
    vp_stop stop;
    check("continue", vp_debugger_continue(debugger));
    check("wait", vp_debugger_wait(debugger, 60000, &stop));
    return stop;
}

// The line of a name, of how things stand.
static void show(const char *name)
{
    const char *line = vp_debugger_inspect(debugger);
    while (line && *line) {
        const char *end = strchr(line, '\n');
        if (!strncmp(line, name, strlen(name)))
            printf("%.*s\n", (int)(end - line), line);
        line = end + 1;
    }
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    const uint64_t enable = strtoull(arguments[1], NULL, 0), target = strtoull(arguments[2], NULL, 0);

    if (!vp_debugger_connect("nowhere", NULL))
        printf("%s\n", vp_debugger_error(NULL));
    debugger = vp_debugger_connect(NULL, NULL);
    if (!debugger) {
        fprintf(stderr, "%s\n", vp_debugger_error(NULL));
        return 1;
    }
    vp_stop stop;
    check("state", vp_debugger_state(debugger, &stop));
    printf("begins %d at %" PRIu64 "\n", (int)stop.why, stop.time);

    const vp_breakpoint write = {
        .on = VP_BREAK_ON_REGISTER, .access = VP_ACCESSES_WRITE, .at = enable, .has_value = true, .value = 1,
    };
    const vp_breakpoint line = { .on = VP_BREAK_ON_INTERRUPT, .once = true };
    uint32_t first = 0, second = 0;
    check("break", vp_debugger_break(debugger, &write, &first));
    check("break", vp_debugger_break(debugger, &line, &second));
    printf("breakpoints %" PRIu32 " %" PRIu32 "\n", first, second);

    stop = next_stop();
    printf("stopped %d by %" PRIu32 "\n", (int)stop.why, stop.breakpoint);
    uint32_t value = 0;
    check("register", vp_debugger_register(debugger, enable, 0, &value));
    printf("enabled %" PRIu32 "\n", value);
    const uint64_t before = stop.time;
    check("step", vp_debugger_step(debugger, VP_STEP_BY_CYCLE, 3, &stop));
    printf("stepped %d by %" PRIu64 " ps\n", (int)stop.why, stop.time - before);
    uint8_t bytes[4];
    check("memory", vp_debugger_memory(debugger, "dbb0", target, bytes, sizeof bytes));
    printf("memory %02x%02x%02x%02x\n", bytes[0], bytes[1], bytes[2], bytes[3]);

    stop = next_stop();
    printf("stopped %d by %" PRIu32 "\n", (int)stop.why, stop.breakpoint);
    show("line.irq0");
    show("unit.pdp");
    check("memory", vp_debugger_memory(debugger, "dbb0", target, bytes, sizeof bytes));
    printf("memory %02x%02x%02x%02x\n", bytes[0], bytes[1], bytes[2], bytes[3]);

    const vp_breakpoint nowhere = { .on = VP_BREAK_ON_MEMORY, .name = "dbb7", .size = 1 };
    int refused = vp_debugger_break(debugger, &nowhere, NULL);
    printf("%d %s\n", refused, vp_debugger_error(debugger));
    refused = vp_debugger_clear(debugger, second);
    printf("%d %s\n", refused, vp_debugger_error(debugger));
    check("clear", vp_debugger_clear(debugger, first));
    check("continue", vp_debugger_continue(debugger));
    check("wait", vp_debugger_wait(debugger, 1, &stop));
    printf("runs %d\n", (int)stop.why);
    vp_debugger_close(debugger);
    return 0;
}
