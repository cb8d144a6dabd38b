/** Which start of which machine this is. */
import { readFileSync } from 'node:fs'
import { platform } from 'node:os'

/**
 * Read the boot id of the kernel: random, and the same until the machine is started again.
 * @returns null where the system has none that can be read: elsewhere than on Linux, or where the
 *   daemon may not read it
 * @see proc_sys_kernel(5), `random/boot_id`
 */
export function bootId(): string | null {
  if (platform() !== 'linux') return null
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return null
  }
}
