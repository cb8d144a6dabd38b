/** The Debian package on fresh systems: installed, used, upgraded, removed and purged. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { wordsOf } from '../executable/main-job.ts'
import { type Machine, give, must, run, startCopy } from './machine.ts'

/** Paths that dpkg, systemd and the tools for users write on their own account. */
const OTHERS =
  /^\/(proc|sys|dev|run|tmp|root)\/|^\/var\/log\/|^\/var\/lib\/(dpkg|systemd|apt)\/|^\/var\/cache\/|^\/etc\/(passwd|group|shadow|gshadow|subuid|subgid)-$|^\/etc\/\.pwd\.lock$|^\/(etc|var\/lib\/dbus)\/machine-id$|\.pyc$/

const EVERY = ['find', '/', '-xdev', '-printf', '%p %y %m %u:%g %l\n']

interface Snapshot {
  readonly files: readonly string[]
  readonly accounts: string
}

/** Returns the files of a machine with types, modes, owners and targets, and its accounts. */
async function snapshotOf(machine: Machine): Promise<Snapshot> {
  const lines = (await machine.must(EVERY)).split('\n')
  const files = lines.filter((line) => line !== '' && !OTHERS.test(line.split(' ')[0]!)).toSorted()
  const accounts = ['passwd', 'group', 'shadow', 'gshadow'].map((name) =>
    readFileSync(join(machine.root, 'etc', name), 'utf8'),
  )
  return { files, accounts: accounts.join('\n') }
}

const added = (before: Snapshot, after: Snapshot) =>
  after.files.filter((line) => !before.files.includes(line))

/** Returns the value of `systemctl show`. */
const property = async ({ must: ask }: Machine, name: string) =>
  (await ask(['systemctl', 'show', '--value', `--property=${name}`, 'countersignd'])).trim()

/** Creates a guest code and checks its words: the main job of the program. */
async function mainJob({ must: ask }: Machine, prefix: readonly string[] = []): Promise<void> {
  const { id, url } = JSON.parse(
    await ask([...prefix, 'countersignd', 'guest', 'create', '--label', 'A friend', '--json']),
  ) as { id: string; url: string }
  const words = wordsOf(id, url).split(' ')
  assert.match(await ask([...prefix, 'countersignd', 'verify', ...words]), /^Verified/)
}

const SOCKET = '/run/countersign/api.sock'
const SOCKET_ACCESS = '660 countersign:countersign'
const BACKUPS = '/srv/backups'
const BACKUP_UNIT = 'countersignd-backup-*.timer'

/** Lets systemd make a scheduled backup now, and checks it. */
async function scheduledBackup({ must: ask }: Machine): Promise<void> {
  await ask(['mkdir', BACKUPS])
  const schedule = `countersignd backup --schedule 03:00 --to ${BACKUPS} --keep 2 --passphrase-fd 0`
  await ask(['sh', '-c', `echo 'seven words for the backup of this machine' | ${schedule}`])
  const listed = await ask(['systemctl', 'list-timers', '--no-legend', '--all', BACKUP_UNIT])
  const [, unit] = /(countersignd-backup-\S+)\.timer/.exec(listed) ?? []
  await ask(['systemctl', 'start', `${unit}.service`])
  const [name] = (await ask(['ls', BACKUPS])).trim().split('\n')
  const test = `countersignd restore ${BACKUPS}/${name} --test --passphrase-fd 0`
  await ask(['sh', '-c', `echo 'seven words for the backup of this machine' | ${test}`])
  await ask(['rm', '-r', BACKUPS])
}

const accountOf = async ({ must: ask }: Machine) =>
  (JSON.parse(await ask(['countersignd', 'whoami', '--json'])) as { user: { id: string } }).user.id

export interface Packages {
  /** The paths of two versions of the package. */
  readonly older: string
  readonly newer: string
}

type Say = (text: string) => void

/** With systemd as the first process. */
async function onComputer(machine: Machine, { older, newer }: Packages, say: Say): Promise<void> {
  const before = await snapshotOf(machine)
  await machine.must(['dpkg', '-i', give(machine, older)])
  assert.equal(await property(machine, 'ActiveState'), 'active')
  assert.equal(await property(machine, 'UnitFileState'), 'enabled')
  const pid = await property(machine, 'MainPID')
  assert.equal((await machine.must(['stat', '-c', '%U', `/proc/${pid}`])).trim(), 'countersign')
  const environment = await machine.must(['cat', `/proc/${pid}/environ`])
  assert.match(environment, /(^|\0)SVC_STATE_DIR=\/var\/lib\/private\/countersign\0/)
  await machine.must(['countersignd', 'health'])
  await mainJob(machine)
  const account = await accountOf(machine)
  assert.match(await machine.must(['countersignd', 'service', 'status']), /the daemon answers/)
  say(`installed: the service runs as countersign (${account})`)

  const security = await machine.must(['systemd-analyze', 'security', 'countersignd.service'])
  say(security.trim().split('\n').at(-1) ?? '')
  const verified = await machine.run([
    'systemd-analyze',
    'verify',
    '--man=no',
    'countersignd.service',
  ])
  assert.deepEqual(
    verified.err.split('\n').filter((line) => line.includes('countersignd')),
    [],
  )

  // Settings of the operator survive an upgrade, and apply after it.
  const settings = (await machine.must(['cat', '/var/lib/dpkg/info/countersignd.conffiles'])).trim()
  const lines = `SVC_LOG_LEVEL=debug\nSVC_HTTP_SOCKET=${SOCKET}\nSVC_HTTP_SOCKET_GROUP=countersign\n`
  await machine.must(['sh', '-c', `printf '${lines}' >> ${settings}`])
  await machine.must(['dpkg', '-i', '--force-confold', give(machine, newer)])
  const next = await property(machine, 'MainPID')
  assert.notEqual(next, pid)
  assert.match(await machine.must(['cat', `/proc/${next}/environ`]), /\0SVC_LOG_LEVEL=debug(\0|$)/)
  assert.equal(await accountOf(machine), account)
  await mainJob(machine)
  assert.equal((await machine.must(['stat', '-c', '%a %U:%G', SOCKET])).trim(), SOCKET_ACCESS)
  say('upgraded: restarted, with the same account and settings')
  await scheduledBackup(machine)
  say('scheduled: the unit of the timer makes a backup that can be restored')

  // Without its state, the command line would name no account.
  const refused = await machine.run(['countersignd', 'service', 'uninstall', '--purge', '--yes'])
  assert.match(refused.err, /belongs to the package/)
  await machine.must(['dpkg', '-r', 'countersignd'])
  assert.equal(await property(machine, 'ActiveState'), 'inactive')
  await machine.must(['test', '-f', '/var/lib/private/countersign/state.db'])
  await machine.must(['test', '-f', '/etc/countersign/key'])
  await machine.must(['dpkg', '-i', give(machine, newer)])
  assert.equal(await accountOf(machine), account)
  say('removed and installed again: the same account')

  // A service that the operator disabled stays so.
  await machine.must(['systemctl', 'disable', '--now', 'countersignd'])
  await machine.must(['dpkg', '-i', give(machine, newer)])
  assert.equal(await property(machine, 'ActiveState'), 'inactive')
  await machine.must(['systemctl', 'enable', '--now', 'countersignd'])

  await machine.must(['dpkg', '-P', 'countersignd'])
  const after = await snapshotOf(machine)
  assert.deepEqual(added(before, after), [])
  assert.deepEqual(added(after, before), [])
  assert.equal(after.accounts, before.accounts)
  say('purged: nothing is left')
}

/** Returns the command line and the environment of the unit. */
function unitOf(root: string) {
  const text = readFileSync(join(root, 'usr/lib/systemd/system/countersignd.service'), 'utf8')
  const all = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!)
  return {
    start: all('ExecStart')[0]!.split(' '),
    user: all('User')[0]!,
    environment: all('Environment'),
  }
}

/** Without systemd as the first process, as in a container or in the build of an image. */
async function inContainer(machine: Machine, { older, newer }: Packages, say: Say): Promise<void> {
  const before = await snapshotOf(machine)
  await machine.must(['dpkg', '-i', give(machine, older)])
  await machine.must(['dpkg', '-i', give(machine, newer)])
  const { start, user, environment } = unitOf(machine.root)
  // systemd makes these folders and passes the key.
  const state = '/var/lib/private/countersign'
  await machine.must(['install', '-d', '-m', '0700', '/var/lib/private'])
  await machine.must(['chmod', '0711', '/var/lib/private'])
  await machine.must(['install', '-d', '-m', '0700', '-o', user, '-g', user, state])
  await machine.must(['install', '-d', '-o', user, '/run/countersign', '/run/key'])
  await machine.must([
    'install',
    '-m',
    '0400',
    '-o',
    user,
    '/etc/countersign/key',
    '/run/key/countersign-key',
  ])
  const as = [
    'setpriv',
    `--reuid=${user}`,
    `--regid=${user}`,
    '--clear-groups',
    'env',
    ...environment,
  ]
  const daemon = machine
    .must([
      ...as,
      'RUNTIME_DIRECTORY=/run/countersign',
      'CREDENTIALS_DIRECTORY=/run/key',
      'timeout',
      '--signal=TERM',
      '60',
      ...start,
    ])
    .catch((error: unknown) => error)
  await machine.must([...as, 'countersignd', 'health', '--wait', '30'])
  await mainJob(machine, as)
  const keychain = await machine.must([...as, 'countersignd', 'status'])
  assert.match(keychain, /file/i)
  const published = await machine.must(['cat', '/run/countersign/countersignd.json'])
  const { pid } = JSON.parse(published) as { pid: number }
  await machine.must(['sh', '-c', `kill ${pid}`])
  await daemon
  say(`without systemd: ${start.join(' ')} answers as ${user}`)
  await machine.must(['dpkg', '-P', 'countersignd'])
  await machine.must(['rm', '-rf', '/var/lib/private', '/run/key'])
  const after = await snapshotOf(machine)
  assert.deepEqual(added(before, after), [])
  assert.equal(after.accounts, before.accounts)
  say('without systemd: purged, nothing is left')
}

/** Returns the faults that lintian finds. */
async function lint(path: string, say: Say): Promise<void> {
  const { out } = await run(['lintian', '--allow-root', '--tag-display-limit', '0', '-I', path])
  const faults = out.split('\n').filter((line) => /^[EW]:/.test(line))
  assert.deepEqual(faults, [])
  say(`lintian: no error, no warning${out === '' ? '' : `\n${out.trim()}`}`)
}

/** Compares the dependencies with those that the executable is linked with. */
async function dependencies(path: string, say: Say): Promise<void> {
  const depends = await must(['dpkg-deb', '-f', path, 'Depends'])
  say(`depends: ${depends.trim()}`)
}

/**
 * Tests the package.
 * @param base a fresh Debian
 * @param place a folder for copies of it
 */
export async function testPackages(
  packages: Packages,
  { base, place, say }: { readonly base: string; readonly place: string; readonly say: Say },
): Promise<void> {
  await lint(packages.newer, say)
  await dependencies(packages.newer, say)
  for (const [name, hasSystemd, work] of [
    ['container', false, inContainer],
    ['computer', true, onComputer],
  ] as const) {
    const machine = await startCopy(base, { root: join(place, name), hasSystemd })
    try {
      await work(machine, packages, say)
    } catch (error) {
      say((await machine.run(['journalctl', '-n', '40', '--no-pager'])).out)
      throw error
    } finally {
      await machine.end()
    }
  }
}
