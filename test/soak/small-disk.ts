/**
 * A disk of a few mebibytes that can be filled to the last byte, without effect on the machine.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  rmdirSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { freshFolder } from '../keychain/fresh-folder.ts'

const run = (command: string, ...args: string[]): void =>
  void execFileSync(command, args, { stdio: 'pipe' })

function canMount(): boolean {
  try {
    run('unshare', '--mount', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'countersign', '/mnt')
    return true
  } catch {
    return false
  }
}

/** Why there is no small disk here, or false. */
export const noSmallDisk: string | false =
  process.platform !== 'linux' || process.geteuid?.() !== 0
    ? 'needs root on Linux, to mount a small disk'
    : !canMount() && 'this machine lets nobody mount'

/** Why there is no disk here that turns read-only under a running program, or false. */
export const noFailingDisk: string | false =
  noSmallDisk ||
  ((!existsSync('/sbin/mkfs.ext4') || !existsSync('/dev/loop-control')) &&
    'needs mkfs.ext4 and loop devices')

export interface SmallDisk {
  /** A folder on it, of mode 0700. */
  readonly stateDir: string
  /** Uses up all free space except this many bytes. */
  fill(butFor?: number): void
  /** Frees the space that `fill` used. */
  free(): void
}

function diskOn(root: string): SmallDisk {
  const ballast = join(root, 'ballast')
  const stateDir = join(root, 'state')
  mkdirSync(stateDir, { mode: 0o700 })
  return {
    stateDir,
    fill(butFor = 0) {
      const file = openSync(ballast, 'a')
      let written = 0
      for (let size = 1 << 20; size >= 1;)
        try {
          written += writeSync(file, Buffer.alloc(size, 1))
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
          size >>= 1
        }
      closeSync(file)
      if (butFor > 0) truncateSync(ballast, Math.max(0, written - butFor))
    },
    free: () => rmSync(ballast, { force: true }),
  }
}

/**
 * Mounts a disk and unmounts it at the end of a passed or failed test, even if a
 * process still has a file open there.
 */
function mounted(t: TestContext, mount: (root: string) => void): string {
  const root = mkdtempSync(join(tmpdir(), 'countersign-disk-'))
  mount(root)
  t.after(() => {
    run('umount', '--lazy', root)
    rmdirSync(root)
  })
  return root
}

/** Mounts a disk of this many bytes. */
export function smallDisk(
  t: TestContext,
  bytes: number,
): SmallDisk & { readOnly(is: boolean): void } {
  const root = mounted(t, (at) =>
    run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'countersign', at),
  )
  return {
    ...diskOn(root),
    readOnly: (is) => run('mount', '-o', `remount,${is ? 'ro' : 'rw'}`, root),
  }
}

/**
 * Mounts a disk that can fail: later writes are lost, and earlier ones may be unless they were
 * synced.
 */
export function failingDisk(t: TestContext): SmallDisk & { fail(): void; repair(): void } {
  const folder = freshFolder(t)
  const image = join(folder, 'image')
  closeSync(openSync(image, 'w'))
  truncateSync(image, 24 << 20)
  run('/sbin/mkfs.ext4', '-q', '-F', image)
  const mount = (at: string) => run('mount', '-o', 'loop,errors=remount-ro', image, at)
  const root = mounted(t, mount)
  return {
    ...diskOn(root),
    fail: () => run('mount', '-o', 'remount,abort', root),
    repair() {
      run('umount', root)
      // Its exit code reports that there was something to repair.
      spawnSync('/sbin/e2fsck', ['-f', '-y', image])
      mount(root)
    },
  }
}
