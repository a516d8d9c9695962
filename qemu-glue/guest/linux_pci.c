/* The device as a PCI function, through uio_pci_generic, which is told of it, and sysfs. */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux.h"
#include "script.h"

#define DEVICES "/sys/bus/pci/devices"
/* Of the configuration: PCI Local Bus Specification 3.0, 6.2.2. */
enum { COMMAND = 4, MEMORY_SPACE = 1 << 1, BUS_MASTER = 1 << 2, INTERRUPT_DISABLE = 1 << 10 };

static int configuration;
static char window[300];

/* The number in a file of a function's folder. */
static long number(const char *function, const char *name)
{
    char path[300], text[32] = "";
    snprintf(path, sizeof path, DEVICES "/%s/%s", function, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, text, sizeof text - 1) < 0)
        end(path);
    close(file);
    return strtol(text, NULL, 0);
}

static int open_file(const char *function, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, DEVICES "/%s/%s", function, name);
    int file = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
    if (file < 0)
        end(path);
    return file;
}

static void set_command(uint16_t set, uint16_t clear)
{
    uint16_t command;
    if (pread(configuration, &command, sizeof command, COMMAND) != sizeof command)
        end("the configuration cannot be read");
    command = (uint16_t)((command | set) & ~clear);
    if (pwrite(configuration, &command, sizeof command, COMMAND) != sizeof command)
        end("the configuration cannot be written");
}

volatile uint32_t *open_device(void)
{
    char function[256] = "";
    mkdir("/sys", 0755);
    if (mount("sysfs", "/sys", "sysfs", 0, NULL))
        end("no /sys");
    load_module("/uio.ko", "");
    load_module("/uio_pci_generic.ko", "");
    int drivers = open("/sys/bus/pci/drivers/uio_pci_generic/new_id", O_WRONLY | O_CLOEXEC);
    if (drivers < 0 || write(drivers, "1af4 10f0", 9) != 9)
        end("new_id");
    DIR *all = opendir(DEVICES);
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (entry->d_name[0] != '.' && number(entry->d_name, "vendor") == 0x1af4 &&
            number(entry->d_name, "device") == 0x10f0)
            snprintf(function, sizeof function, "%s", entry->d_name);
    if (!*function)
        end("no function");
    printf("class %06lx\n", number(function, "class"));
    device = open("/dev/uio0", O_RDWR | O_CLOEXEC);
    if (device < 0)
        end("/dev/uio0");
    configuration = open_file(function, "config");
    /* A driver that has forgotten something, if the kernel's command line says so, which leaves it in the environment. */
    uint16_t forgotten = getenv("passive") ? BUS_MASTER : 0;
    set_command(MEMORY_SPACE | BUS_MASTER, INTERRUPT_DISABLE | forgotten);
    snprintf(window, sizeof window, DEVICES "/%s/resource0", function);
    int file = open_file(function, "resource0");
    struct stat status;
    if (fstat(file, &status))
        end(window);
    return mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

const char *registers_file(void)
{
    return window;
}

int open_memory(void)
{
    return open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
}

int is_error(uint32_t value)
{
    return value == 0xffffffff;
}

void interrupt_served(void)
{
    /* The driver has switched the pin off, and leaves it to us to switch it on. */
    set_command(0, INTERRUPT_DISABLE);
}
