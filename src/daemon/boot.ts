/** Identifies the current boot of this machine. */
import { readFileSync } from 'node:fs'
import { platform } from 'node:os'

/**
 * Reads the boot id of the kernel: random, and the same until the machine is started again.
 * @returns null if the system has no readable one: on systems without Linux, or without
 * permission
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
