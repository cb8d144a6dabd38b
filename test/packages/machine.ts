/** Fresh Debian systems in folders: with a systemd of their own, or without one as in a build. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

interface Done {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs a program to its end. */
export async function run(words: readonly string[], input = ''): Promise<Done> {
  const [program = '', ...args] = words
  const child = spawn(program, args, { env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' } })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.on('error', () => undefined).end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

/** Runs a program that must succeed; returns its output. */
export async function must(words: readonly string[], input = ''): Promise<string> {
  const { code, out, err } = await run(words, input)
  assert.equal(code, 0, `${words.join(' ')}: ${err}${out}`)
  return out
}

/** What a Debian with systemd has, and what apt would install with the package. */
const INCLUDED = 'systemd,systemd-sysv,dbus,ca-certificates,libstdc++6,iproute2'

/** Installs Debian 12 into a folder, with the sources of this machine's mirror. */
export async function installDebian(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await must([
    'debootstrap',
    '--variant=minbase',
    `--include=${INCLUDED}`,
    'bookworm',
    folder,
    'http://deb.debian.org/debian',
  ])
}

/** A Debian in a folder. */
export interface Machine {
  readonly root: string
  /** Runs a command in it as root. */
  readonly run: (words: readonly string[], input?: string) => Promise<Done>
  readonly must: (words: readonly string[], input?: string) => Promise<string>
  readonly end: () => Promise<void>
}

const inside = (prefix: readonly string[]) => {
  const words = (given: readonly string[]) => [
    ...prefix,
    'env',
    '-i',
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'HOME=/root',
    'LC_ALL=C.UTF-8',
    'DEBIAN_FRONTEND=noninteractive',
    ...given,
  ]
  return {
    run: (given: readonly string[], input?: string) => run(words(given), input),
    must: (given: readonly string[], input?: string) => must(words(given), input),
  }
}

/** The mounts of a machine: its own processes, devices, and nothing else of this one. */
const MOUNTS = `set -e
R=$1
mount --bind "$R" "$R"
mount -t proc proc "$R/proc"
mount -t tmpfs -o mode=755 tmpfs "$R/run"
mount -t tmpfs tmpfs "$R/tmp"
mount -t tmpfs -o mode=755 tmpfs "$R/dev"
# Nodes of its own: systemd changes the owner and the mode of its console.
mknod -m 666 "$R/dev/null" c 1 3
mknod -m 666 "$R/dev/zero" c 1 5
mknod -m 666 "$R/dev/full" c 1 7
mknod -m 666 "$R/dev/random" c 1 8
mknod -m 666 "$R/dev/urandom" c 1 9
mknod -m 666 "$R/dev/tty" c 5 0
mknod -m 600 "$R/dev/console" c 1 3
mkdir "$R/dev/pts" "$R/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$R/dev/pts"
mount -t tmpfs tmpfs "$R/dev/shm"
ln -s pts/ptmx "$R/dev/ptmx"
ln -s /proc/self/fd "$R/dev/fd"
ip link set lo up
`

const SYSTEMD = `
mount -t tmpfs -o mode=755 tmpfs "$R/sys"
mkdir -p "$R/sys/fs/cgroup"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$R/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 tmpfs "$R/sys/fs/cgroup"
  mkdir "$R/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd cgroup "$R/sys/fs/cgroup/systemd"
fi
# systemd mounts credentials in a namespace that shares its mounts with this one.
mount --make-rshared /
cd "$R"
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . /lib/systemd/systemd
`

const SLEEP = `
cd "$R"
exec chroot . sleep infinity
`

/** A file by which a machine differs from the system of the test. */
const MARK = 'etc/countersign-test-machine'

const NAMESPACES = ['--pid', '--mount', '--ipc', '--uts', '--net', '--cgroup']

/** Returns the first child of a process; null if there is none yet. */
function childOf({ pid }: ChildProcess): string | null {
  const path = `/proc/${pid}/task/${pid}/children`
  return existsSync(path) ? (readFileSync(path, 'utf8').trim().split(' ')[0] ?? '') || null : null
}

/** The folder of control groups in which this machine's systemd lets others begin. */
const GROUPS = ['/sys/fs/cgroup/systemd', '/sys/fs/cgroup'].find((path) =>
  existsSync(join(path, 'cgroup.procs')),
)

/**
 * Starts a machine in a folder.
 * @param hasSystemd whether systemd runs in it, as on a computer
 */
async function start(root: string, hasSystemd: boolean): Promise<Machine> {
  const group = GROUPS === undefined ? null : join(GROUPS, `countersign-${process.pid}`)
  if (group !== null) mkdirSync(group, { recursive: true })
  const enter = group === null ? '' : `echo $$ > '${group}/cgroup.procs'; `
  const script = MOUNTS + (hasSystemd ? SYSTEMD : SLEEP)
  const child = spawn(
    'sh',
    [
      '-c',
      `${enter}exec unshare ${NAMESPACES.join(' ')} --fork --kill-child --propagation private sh -c "$0" sh "$1"`,
      script,
      root,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const ended = once(child, 'exit')
  let pid = childOf(child)
  while (pid === null && child.exitCode === null && child.signalCode === null) {
    await pause(50)
    pid = childOf(child)
  }
  assert(pid !== null, 'the namespaces could not be made')
  const commands = inside(['nsenter', '--target', pid, ...NAMESPACES, '--root', '--wd'])
  // Until its first process is in its folder, commands would run in the system of the test.
  const isInside = async () =>
    (await commands.run(['test', '-e', `/${MARK}`])).code === 0 && !existsSync(`/${MARK}`)
  const isUp = async () =>
    (await isInside()) &&
    (!hasSystemd ||
      /^(running|degraded)/.test((await commands.run(['systemctl', 'is-system-running'])).out))
  for (let time = 0; !(await isUp()); time++) {
    assert(time < 600 && child.exitCode === null, 'the machine did not start')
    await pause(200)
  }
  return {
    root,
    ...commands,
    async end() {
      child.kill('SIGKILL')
      await ended
      try {
        if (group !== null) rmdirSync(group)
      } catch {
        // Its processes have not all ended yet; an empty group costs nothing.
      }
    },
  }
}

/** Starts a copy of a Debian, which is deleted at the end. */
export async function startCopy(
  base: string,
  { root, hasSystemd }: { readonly root: string; readonly hasSystemd: boolean },
): Promise<Machine> {
  await must(['rm', '-rf', root])
  await must(['cp', '-a', base, root])
  writeFileSync(join(root, 'etc/machine-id'), '')
  writeFileSync(join(root, MARK), '')
  const machine = await start(root, hasSystemd)
  return {
    ...machine,
    async end() {
      await machine.end()
      await must(['rm', '-rf', root])
    },
  }
}

/** Copies a file into a machine; returns its path there. */
export function give(machine: Machine, path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  cpSync(path, join(machine.root, 'root', name))
  return `/root/${name}`
}
