/* The device as a node of the device tree, through uio_pdrv_genirq. */

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "linux.h"
#include "script.h"

volatile uint32_t *open_device(void)
{
    load_module("/uio_pdrv_genirq.ko", "of_id=nvidia,nv_small");
    device = open("/dev/uio0", O_RDWR | O_CLOEXEC);
    if (device < 0)
        end("/dev/uio0");
    return mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, device, 0);
}

int is_error(uint32_t value)
{
    /* There is SIGBUS. */
    (void)value;
    return 0;
}

void interrupt_served(void)
{
    uint32_t enable = 1;
    if (write(device, &enable, sizeof enable) != sizeof enable)
        end("the interrupt cannot be enabled");
}
