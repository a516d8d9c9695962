/* The first and only program of a Linux guest: reaches the device through one of the kernel's generic drivers, hears its
 * interrupt through /dev/uio0, and runs the script that lies beside it. Which driver is linux_node.c's and linux_pci.c's matter. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "linux.h"
#include "script.h"

/* Of the memory that the device tree reserves; the traces' surfaces lie in it too. */
#define RESTARTED 0x80ff0000
/* Reads of one register by another CPU, while the script runs. */
#define OTHERS_READS 5000

volatile uint32_t *registers;
uint32_t interrupt_status;
int device;
size_t interrupt_bytes = 4;
static int all_memory;
static sigjmp_buf bus_error;
static struct timespec clock_start;

void end(const char *what)
{
    if (what)
        printf("FAIL: %s: %m\n", what);
    fflush(stdout);
    sync();
    reboot(RB_POWER_OFF);
}

static void on_bus_error(int signal)
{
    (void)signal;
    siglongjmp(bus_error, 1);
}

int read_register(uint32_t offset, uint32_t *value)
{
    if (sigsetjmp(bus_error, 1))
        return 0;
    *value = registers[offset / 4];
    return !is_error(*value);
}

void *memory(uint64_t address, uint32_t length)
{
    uint64_t page = address & ~(uint64_t)0xfff;
    size_t bytes = address + length - page;
    unsigned char *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, all_memory, (off_t)page);
    if (mapped == MAP_FAILED)
        end("memory cannot be mapped");
    /* Stays mapped: a script does this a few times. */
    return mapped + (address - page);
}

int wait_for_interrupt(void)
{
    struct pollfd wanted = { .fd = device, .events = POLLIN };
    uint64_t count;
    return poll(&wanted, 1, 40000) == 1 && read(device, &count, interrupt_bytes) == (ssize_t)interrupt_bytes;
}

void sleep_a_second(void)
{
    struct timespec second = { .tv_sec = 1 };
    nanosleep(&second, NULL);
}

uint64_t now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void start_clock(void)
{
    clock_gettime(CLOCK_MONOTONIC, &clock_start);
}

int seconds_are_over(unsigned seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - clock_start.tv_sec > (time_t)seconds;
}

void say(const char *text, uint32_t length)
{
    fwrite(text, 1, length, stdout);
    fflush(stdout);
}

void hear(void)
{
    getchar();
}

int is_restarted(void)
{
    return *(volatile uint32_t *)memory(RESTARTED, 4) == 0x52535452;
}

void restart(void)
{
    *(volatile uint32_t *)memory(RESTARTED, 4) = 0x52535452;
    sync();
    reboot(RB_AUTOBOOT);
}

void load_module(const char *path, const char *options)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || syscall(SYS_finit_module, file, options, 0))
        end(path);
}

/* Another process, on another CPU if there is one, that uses the registers meanwhile. */
static pid_t start_other(void)
{
    pid_t other = fork();
    if (other)
        return other;
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
    sched_setaffinity(0, sizeof last, &last);
    /* The first register never changes, whatever the device. */
    uint32_t version = registers[0];
    for (int count = 0; count < OTHERS_READS; count++)
        if (registers[0] != version)
            _exit(1);
    _exit(0);
}

/* A program of the device's own in place of a script. */
static void run_program(void)
{
    pid_t program = fork();
    int result = 1;
    if (!program) {
        execl("/program", "/program", "/dev/uio0", "/input", "0x80000000", registers_file(), (char *)NULL);
        _exit(1);
    }
    if (waitpid(program, &result, 0) != program)
        end("the program");
    if (result)
        printf("FAIL: the program ended with status 0x%x\n", result);
    end(NULL);
}

int main(int argc, char **argv)
{
    (void)argc, (void)argv;
    mkdir("/dev", 0755);
    if (mount("devtmpfs", "/dev", "devtmpfs", 0, NULL))
        end("no /dev");
    freopen("/dev/console", "w", stdout);
    registers = open_device();
    all_memory = open_memory();
    if (all_memory < 0 || registers == MAP_FAILED)
        end("the registers cannot be mapped");
    if (!access("/program", X_OK))
        run_program();
    signal(SIGBUS, on_bus_error);
    int file = open("/script", O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status))
        end("/script");
    uint32_t *script = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (script == MAP_FAILED)
        end("/script");
    printf("%ld CPUs\n", sysconf(_SC_NPROCESSORS_ONLN));
    fflush(stdout);
    pid_t other = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? start_other() : 0;
    int failed = run_script(script);
    int result = 0;
    if (!failed && other && (waitpid(other, &result, 0) != other || result))
        end("the other process");
    if (!failed && other)
        printf("the other process too\n");
    end(NULL);
}
