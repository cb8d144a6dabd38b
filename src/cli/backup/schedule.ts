/** Schedules backups: the schedule of the daemon, the mark of the folder, and the timer. */
import { randomBytes } from 'node:crypto'
import { BackupPlan, MOST_KEPT } from '../../api/local/backup-schedule.ts'
import { StartError } from '../../errors.ts'
import { safeParse } from 'valibot'
import { type Invocation, UsageError } from '../command.ts'
import { encoded, requireOwnPlace } from '../service/install.ts'
import type { CommandWords } from '../service/definition.ts'
import type { Host } from '../service/machine.ts'
import { type Timer, timerOf } from '../service/timer.ts'
import { isForSystem } from '../system-instance.ts'
import { markFolder, requireBackupFolder, unmarkFolder } from './folder.ts'
import { passphraseOf } from './passphrase.ts'

/** Returns the machine to operate on. Tests pass a different one. */
export type MachineFor = (env: NodeJS.ProcessEnv) => Host

/** How many backups are kept if the user names no number. */
const KEPT = 14

const DIGITS = 'abcdefghijklmnopqrstuvwxyz234567'
const newId = () => Array.from(randomBytes(8), (byte) => DIGITS[byte % 32]).join('')

type Plan = Pick<BackupPlan, 'id' | 'at' | 'folder'>

function timerFor({ config }: Invocation, machine: Host, plan: Plan): Timer {
  const { home, uid, env, self, platform } = machine
  const settings = config()
  const isSystem = uid === 0
  if (isSystem && platform === 'linux')
    for (const path of self.words.filter((word) => word.startsWith('/')))
      requireOwnPlace(machine, path)
  return timerOf(platform, {
    ...plan,
    scope: isSystem ? 'system' : 'user',
    program: self.words,
    home,
    uid,
    env,
    stateDir: isForSystem(settings) ? null : settings.stateDir,
  })
}

const isReached = async (machine: Host, { demand }: Timer) =>
  demand === null || (await machine.run(demand)).code === 0

async function removeTimer(machine: Host, timer: Timer): Promise<void> {
  const isManaged = await isReached(machine, timer)
  const run = async (all: readonly CommandWords[]) => {
    if (isManaged) for (const words of all) await machine.run(words)
  }
  await run(timer.end)
  for (const { path } of timer.files) machine.remove(path)
  await run(timer.after)
}

/**
 * Writes and starts the timer. Returns false if there is no service manager.
 * @throws StartError `failed` with the command that failed
 */
async function startTimer(machine: Host, timer: Timer): Promise<boolean> {
  if (!(await isReached(machine, timer))) return false
  for (const words of timer.end) await machine.run(words)
  for (const file of timer.files) machine.write(file.path, encoded(file), file.mode)
  for (const words of timer.start) {
    const { code, err } = await machine.run(words)
    if (code === 0) continue
    await removeTimer(machine, timer)
    throw new StartError(
      'failed',
      `"${words.join(' ')}" failed: ${err.trim()} No timer was set, but the schedule was stored. Run "countersignd backup --scheduled" every day by other means, or "countersignd backup --schedule off".`,
    )
  }
  return true
}

function keepOf(given: string | boolean | undefined): number {
  if (given === undefined) return KEPT
  const keep = /^[1-9]\d{0,3}$/.test(String(given)) ? Number(given) : NaN
  if (keep <= MOST_KEPT) return keep
  throw new UsageError(`--keep must be a whole number from 1 to ${MOST_KEPT}.`)
}

/** Schedules backups, or changes the schedule. */
export async function scheduleBackups(
  invocation: Invocation,
  machineFor: MachineFor,
): Promise<void> {
  const { options, io, config, print, withApi } = invocation
  const { schedule: at = '', to } = options
  if (to === undefined) throw new UsageError('--schedule also needs --to FOLDER.')
  if (!safeParse(BackupPlan.entries.at, at).success)
    throw new UsageError('--schedule must be a time such as 03:00, or off.')
  const keep = keepOf(options['keep'])
  const { system, stateDir } = config()
  const isSystem = system !== null && isForSystem({ system, stateDir })
  const folder = requireBackupFolder(String(to), isSystem ? system.state : stateDir)
  const machine = machineFor(io.env)
  const passphrase = await passphraseOf(invocation, true)
  const plan = await withApi(async (api) => {
    const { schedule: before } = await api.backupSchedule.read({})
    const mine = { id: before?.id ?? newId(), at: String(at), folder, keep }
    // Everything that can be refused is done before the schedule is stored.
    timerFor(invocation, machine, mine)
    markFolder(folder, mine.id)
    await api.backupSchedule.set({ body: { ...mine, passphrase } })
    return mine
  })
  const timer = timerFor(invocation, machine, plan)
  const isTimed = await startTimer(machine, timer)
  print({ ...plan, timer: isTimed ? timer.name : null }, [
    `Every day at ${plan.at}, a backup is written to ${folder} and tested. The newest ${keep} are kept.`,
    isTimed
      ? `The timer is ${timer.name}.`
      : 'No timer was set, because the service manager cannot be reached. Run this every day by other means, such as cron: countersignd backup --scheduled',
    'Keep the passphrase in another place: without it, the backups cannot be restored. To try it now: countersignd backup --scheduled',
  ])
}

/** Ends the schedule and removes the timer. The files stay. */
export async function unscheduleBackups(
  invocation: Invocation,
  machineFor: MachineFor,
): Promise<void> {
  const { withApi, print, io } = invocation
  const before = await withApi(async (api) => {
    const { schedule } = await api.backupSchedule.read({})
    await api.backupSchedule.delete({})
    return schedule
  })
  if (before === null) {
    print({ scheduled: false, folder: null }, 'No backups were scheduled.')
    return
  }
  const machine = machineFor(io.env)
  await removeTimer(machine, timerFor(invocation, machine, before))
  unmarkFolder(before.folder, before.id)
  print(
    { scheduled: false, folder: before.folder },
    `No more backups are made. ${before.folder} keeps the ones that were made.`,
  )
}
