/**
 * Installs the service, or upgrades an older installation.
 *
 * The steps are the program, the key, the definition, and the commands that start the service. If a
 * step fails, a new installation is removed and an upgrade is rolled back.
 */
import { randomBytes } from 'node:crypto'
import { posix } from 'node:path'
import { isFullDisk, StartError } from '../../errors.ts'
import {
  type CommandWords,
  type Definition,
  type ServiceFile,
  type SocketDefinition,
  waiting,
} from './definition.ts'
import type { Host, Ran } from './machine.ts'
import {
  forgetProgram,
  type Former,
  saveProgram,
  savedPathOf,
  putBack,
  startAgain,
} from './previous.ts'
import { SYSTEM_SETTINGS, SYSTEM_STATE } from './systemd.ts'

/** Returns a path and all its parents, beginning with the root. */
const waysTo = (path: string): string[] =>
  path === '/' ? ['/'] : [...waysTo(posix.dirname(path)), path]

/**
 * Checks that only root can replace the program that the system service runs.
 *
 * The program's file, if it exists, and every folder above it are checked.
 * @throws StartError `stateUnsafe` with the command that corrects the owner or the mode
 */
export function requireOwnPlace(machine: Pick<Host, 'lstat'>, path: string): void {
  for (const step of waysTo(path)) {
    const seen = machine.lstat(step)
    if (seen === null) return
    if (seen.isLink)
      throw unsafe(
        `${step} is a link, so the service would run the target of the link. Replace the link with the ${step === path ? 'file' : 'folder'} itself.`,
      )
    if (seen.uid !== 0)
      throw unsafe(
        `${step} belongs to user ${seen.uid}, who could replace the program of the service. Run: chown root '${step}'`,
      )
    if ((seen.mode & 0o022) !== 0)
      throw unsafe(
        `Other users can write to ${step} and could replace the program of the service. Run: chmod go-w '${step}'`,
      )
  }
}

const unsafe = (message: string) => new StartError('stateUnsafe', message)

export const SEALING_KEY = `${SYSTEM_SETTINGS}/key`

/** The key, encrypted by systemd-creds(1). An operator can use it in a drop-in. */
const ENCRYPTED = `${SEALING_KEY}.cred`

/**
 * Creates the key that encrypts the system service's secrets, if there is no key.
 *
 * If the state folder contains a key, that key is used. Only root can read the file, and the
 * service gets the key as a credential. Without the key, a copy of the state is useless.
 * @returns whether the key was created
 * @throws StartError `keychain` if there are encrypted secrets but their key is missing
 */
export function makeSealingKey(machine: Host): boolean {
  if ([SEALING_KEY, ENCRYPTED].some((path) => machine.lstat(path) !== null)) return false
  const own = Buffer.from(machine.read(`${SYSTEM_STATE}/keychain.key`) ?? []).toString('latin1')
  const isKey = /^[0-9a-f]{64}\n?$/.test(own)
  const sealed = machine.list(`${SYSTEM_STATE}/keychain`).some((name) => name.endsWith('.sealed'))
  if (sealed && !isKey)
    throw new StartError(
      'keychain',
      `${SEALING_KEY} is missing, and the secrets in ${SYSTEM_STATE} are encrypted with it. Restore that file from a backup, ` +
        'or start over: countersignd service uninstall --system --purge --yes',
    )
  const key = isKey ? own : `${randomBytes(32).toString('hex')}\n`
  machine.write(SEALING_KEY, Buffer.from(key), 0o600)
  return true
}

export interface Plan {
  readonly definition: Definition
  /** Where the executable is copied from and to; null if it runs from its current path. */
  readonly copy: { readonly from: string; readonly to: string } | null
  /** A file that only the first installation creates; null if there is none. */
  readonly beside: { readonly path: string; make(): void } | null
  /**
   * The installed service, with its own state folder for the health check (default: `definition`).
   */
  readonly former?: Definition
}

/** Returns the bytes of a file in its encoding. */
export const encoded = ({ content, encoding }: ServiceFile): Buffer =>
  Buffer.from(content, encoding)

const shown = (words: CommandWords) => words.join(' ')

/** Returns the exit code and the last eight lines of a command's output. */
const outputOf = ({ code, out, err }: Ran) =>
  [`(exit code ${code ?? 'none'})`, (err.trim() || out.trim()).split('\n').slice(-8).join('\n')]
    .join(' ')
    .trim()

/**
 * Runs a command that must succeed.
 * @throws StartError with the command, its output and the remedy, if the command fails
 */
async function demand(machine: Host, words: CommandWords, remedy: string): Promise<void> {
  const ran = await machine.run(words)
  if (ran.code !== 0)
    throw new StartError('failed', `"${shown(words)}" failed ${outputOf(ran)}\n${remedy}`)
}

/**
 * Runs a function that writes to the file system.
 * @throws StartError for an error of the file system; other errors unchanged
 */
function step(what: string, work: () => void): void {
  try {
    work()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (cause instanceof StartError || code === undefined) throw cause
    const remedy = isFullDisk(cause)
      ? 'The disk is full. Free some space.'
      : 'Check the permissions there, or run this command as a user who can write there.'
    throw new StartError('failed', `${what} cannot be written (${code}). ${remedy}`, cause)
  }
}

/**
 * Removes as much of an installation as possible.
 * @returns the paths that could not be removed, with the error codes
 */
export async function takeAway(
  machine: Host,
  { definition }: Pick<Plan, 'definition'>,
  programs: readonly string[],
): Promise<string[]> {
  const { file, socket, end } = definition
  // The socket first, because it would start the service again.
  for (const words of [...(socket?.end ?? []), ...end]) await machine.run(words)
  const left: string[] = []
  const files = socket === null ? [file.path] : [socket.file.path, file.path]
  for (const path of [...files, ...programs])
    try {
      machine.remove(path)
    } catch (cause) {
      left.push(`${path} (${(cause as NodeJS.ErrnoException).code})`)
    }
  for (const words of definition.after) await machine.run(words)
  return left
}

async function start(machine: Host, { definition }: Plan): Promise<void> {
  const remedy = `Check the log: ${definition.log}`
  for (const words of [...(definition.socket?.start ?? []), ...definition.start])
    await demand(machine, words, remedy)
  if (definition.startWaits) return
  const ran = await machine.run(waiting(definition), definition.health.env)
  if (ran.code !== 0)
    throw new StartError(
      'daemonSilent',
      `The service was started, but did not answer within 60 seconds ${outputOf(ran)}\n${remedy}`,
    )
}

/** Rolls back a failed upgrade. Returns the message about the result. */
async function backTo(machine: Host, former: Former, begun: boolean): Promise<string> {
  if (former.socket !== null && former.socket.content === null)
    for (const words of former.socket.end) await machine.run(words)
  const faults = putBack(machine, former)
  if (faults.length > 0)
    return `The previous installation could not be restored:\n${faults.join('\n')}`
  const isReplaced = former.program !== null || former.file !== null
  if (!begun)
    return `The service stays installed as it ${isReplaced ? 'was' : 'is'}. Correct the problem above, then run the command again.`
  const what = former.program === null ? 'definition' : 'service'
  return `The previous ${what} was restored ${await startAgain(machine, former)}.`
}

/**
 * Writes the file of the socket.
 * @param definition that of the previous service, which has no socket if there was no such file
 * @returns what a rollback needs
 */
function writeSocket(
  machine: Host,
  definition: Definition,
  { file, end }: SocketDefinition,
): Pick<Former, 'socket' | 'definition'> {
  const content = machine.read(file.path)
  step(file.path, () => machine.write(file.path, encoded(file), file.mode))
  return {
    socket: { path: file.path, content, mode: file.mode, end },
    definition: content === null ? { ...definition, socket: null } : definition,
  }
}

/**
 * Installs the service as planned.
 * @returns whether the service had been installed before
 * @throws StartError of the step that failed, after the removal or the rollback
 */
export async function install(machine: Host, plan: Plan): Promise<{ wasThere: boolean }> {
  const { definition, copy, beside } = plan
  const { file } = definition
  for (const { words, remedy } of definition.demands) await demand(machine, words, remedy)
  const seen = machine.lstat(file.path)
  const wasThere = seen !== null
  const hadProgram = copy !== null && machine.lstat(copy.to) !== null
  let former: Former = {
    program: null,
    file: null,
    socket: null,
    definition: plan.former ?? definition,
  }
  let saved: string | null = null
  let written = false
  let begun = false
  try {
    if (beside !== null) step(beside.path, () => beside.make())
    if (copy !== null)
      step(savedPathOf(copy.to), () => void (saved = saveProgram(machine, copy.to)))
    const content = wasThere ? machine.read(file.path) : null
    // From here on, an older service may have been stopped.
    begun = wasThere && definition.before.length > 0 && !definition.startWaits
    if (wasThere) for (const words of definition.before) await machine.run(words)
    if (copy !== null) step(copy.to, () => machine.copy(copy.from, copy.to, 0o755))
    if (copy !== null && saved !== null) former = { ...former, program: { place: copy.to, saved } }
    step(file.path, () => machine.write(file.path, encoded(file), file.mode))
    written = true
    if (definition.socket !== null)
      former = { ...former, ...writeSocket(machine, former.definition, definition.socket) }
    if (content !== null)
      former = { ...former, file: { path: file.path, content, mode: seen?.mode ?? file.mode } }
    begun = wasThere
    // launchd keeps the old definition until the service is unloaded.
    if (wasThere && !definition.startWaits)
      for (const words of definition.end) await machine.run(words)
    await start(machine, plan)
    forgetProgram(machine, saved)
    return { wasThere }
  } catch (error) {
    const made = copy === null || hadProgram ? null : copy.to
    if (!wasThere && written) await takeAway(machine, plan, made === null ? [] : [made])
    else if (!wasThere && made !== null) machine.remove(made)
    if (wasThere) forgetProgram(machine, made)
    const faults = wasThere ? [] : putBack(machine, former)
    const what = wasThere
      ? await backTo(machine, former, begun)
      : [
          'The service is not installed. All files that this command wrote have been removed again.',
          ...faults,
        ].join('\n')
    if (former.program === null) forgetProgram(machine, saved)
    if (!(error instanceof StartError)) throw error
    throw Object.assign(error, { message: `${error.message}\n${what}` })
  }
}
