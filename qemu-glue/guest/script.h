/*
 * A guest that does what a script says: registers, memory, interrupts of the device. script.c knows the script, bare.c, bare_pc.c
 * and linux.c know how a guest of that kind gets at the device.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdint.h>

/* The words that begin a script's steps. Arguments are words too, addresses and lengths in bytes; data is filled up to words. */
enum step {
    STEP_END = 0,           /* */
    STEP_WRITE = 1,         /* offset, value */
    STEP_READ = 2,          /* offset, value it must have */
    STEP_INTERRUPTS = 3,    /* bits of S_INTR_STATUS that must come, each with an interrupt; cleared as they come */
    STEP_LOAD = 4,          /* address low, high, length, data */
    STEP_CHECK = 5,         /* address low, high, length, data that must be there */
    STEP_SAY = 6,           /* length, text */
    STEP_RESTART = 7,       /* restarts the machine, the first time */
    STEP_UNTIL_ERROR = 8,   /* offset: reads it until the bus answers with an error */
    STEP_UNTIL_ANSWER = 9,  /* offset: reads it until the bus answers without one */
    STEP_READ_TIMES = 10,   /* offset, count: reads it so often, and says how long after each other the reads were over */
    STEP_TIMES = 11,        /* says when it is, when the last write was made, and when the last interrupt and change came */
    STEP_WATCH = 12,        /* address low, high: waits until the word there changes */
    STEP_SLEEP = 13,        /* offset: sleeps for a second, then reads it, until the bus answers with an error */
    STEP_READS = 14,        /* offset, count: reads it so often, and says how long that took */
    STEP_WRITES = 15,       /* offset, count: writes 0 so often, reads it once, and says how long that took */
    STEP_HEAR = 16,         /* waits for a character on the console */
};

/* Runs a script, says how it went ("PASS", or "FAIL" and what), and returns 0 if all was well. */
int run_script(const uint32_t *script);

/* What a kind of guest provides. */

/* The register window. */
extern volatile uint32_t *registers;
/* GLB.S_INTR_STATUS, in bytes: maps differ. */
extern uint32_t interrupt_status;

/* Reads a register; 0 if the bus answered with an error. */
int read_register(uint32_t offset, uint32_t *value);
/* Physical memory. */
void *memory(uint64_t address, uint32_t length);
/* Waits for the device's interrupt; 0 if none comes in some seconds. */
int wait_for_interrupt(void);
/* Takes the next one, after the device has been served. */
void interrupt_served(void);
/* Waits for the timer, a second of the guest's time, with the CPU idle. */
void sleep_a_second(void);
/* The guest's clock, in nanoseconds. */
uint64_t now(void);
/* Whether the seconds since the last call of start_clock() are over. */
void start_clock(void);
int seconds_are_over(unsigned seconds);
void say(const char *text, uint32_t length);
/* Waits for a character on the console. */
void hear(void);
/* Whether the machine was restarted by restart(). */
int is_restarted(void);
void restart(void);

#endif
