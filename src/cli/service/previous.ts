/**
 * Keeps the previous installation until the new version answers, and restores it otherwise.
 *
 * The messages about the restored installation state what was checked afterwards.
 */
import { type CommandWords, type Definition, waiting } from './definition.ts'
import type { Host } from './machine.ts'

/**
 * Returns the path for the copy of the previous program.
 *
 * The copy is in the same folder, so only users who can change the program can change the copy.
 */
export const savedPathOf = (place: string): string => place.replace(/[^/\\]+$/, '.$&.before')

export interface Former {
  /** The path of the program and of its copy; null if no program was replaced. */
  readonly program: { readonly place: string; readonly saved: string } | null
  /** The replaced file; null if no file was replaced. */
  readonly file: {
    readonly path: string
    readonly content: Uint8Array
    readonly mode: number
  } | null
  /**
   * The file of the socket that was replaced; its content is null if there was none. Null if no
   * socket was installed. `end`: the commands that end the new one.
   */
  readonly socket: {
    readonly path: string
    readonly content: Uint8Array | null
    readonly mode: number
    readonly end: readonly CommandWords[]
  } | null
  /** The definition of the previous service. */
  readonly definition: Definition
}

/**
 * Copies the program at a path.
 * @returns the path of the copy; null if there is no program, or a link to a missing file
 */
export function saveProgram(machine: Host, place: string): string | null {
  if (machine.lstat(place) === null) return null
  const saved = savedPathOf(place)
  try {
    machine.copy(place, saved, 0o755)
    return saved
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
}

/** Removes the copy. If this fails, the next installation replaces the copy. */
export function forgetProgram(machine: Host, saved: string | null): void {
  try {
    if (saved !== null) machine.remove(saved)
  } catch {
    // The service does not depend on the removal.
  }
}

/** Restores the files. Returns a message for each file that could not be restored. */
export function putBack(machine: Host, { program, file, socket }: Former): string[] {
  const faults: string[] = []
  const attempt = (work: () => void, fault: string) => {
    try {
      work()
    } catch (cause) {
      faults.push(`${fault} (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`)
    }
  }
  if (program !== null) {
    const { place, saved } = program
    attempt(() => {
      machine.copy(saved, place, 0o755)
      forgetProgram(machine, saved)
    }, `The previous program could not be restored to ${place}; it is kept as ${saved}`)
  }
  if (socket !== null)
    attempt(() => {
      if (socket.content === null) machine.remove(socket.path)
      else machine.write(socket.path, socket.content, socket.mode)
    }, `The previous state of ${socket.path} could not be restored`)
  if (file !== null)
    attempt(
      () => machine.write(file.path, file.content, file.mode),
      `The previous ${file.path} could not be restored`,
    )
  return faults
}

/**
 * Starts the previous service again.
 * @returns the state of the service, as the end of a sentence
 */
export async function startAgain(machine: Host, { definition }: Former): Promise<string> {
  const { before, end, socket, start, startWaits, health, ask } = definition
  for (const words of startWaits ? before : [...before, ...end]) await machine.run(words)
  const steps = [...(socket?.start ?? []), ...start].map((words) => ({ words, env: {} }))
  if (!startWaits) steps.push({ words: waiting(definition), env: health.env })
  for (const { words, env } of steps) {
    if ((await machine.run(words, env)).code === 0) continue
    return definition.refusesState(await machine.run(ask))
      ? 'but is not running, because the newer version has upgraded the state and the previous version does not accept it (exit code 7). Correct the problem above and install the newer version again, or restore the copies of the databases ("Upgrading" in docs/operations.md) and start the service'
      : `but is not running, because "${words.join(' ')}" failed for it too. Check the log: ${definition.log}`
  }
  return 'and is running again'
}
