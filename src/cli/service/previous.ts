/**
 * The installation from before an upgrade: kept until the new one answers, put back where it does not. What is said of it afterwards is
 * what was seen.
 */
import { type Definition, waiting } from './definition.ts'
import type { Machine } from './machine.ts'

/** Where the program from before is kept, beside its place: the same folder, so the same users could change it. */
export const keptOf = (place: string): string => place.replace(/[^/\\]+$/, '.$&.before')

export interface Former {
  /** The place of the program and where the one from before is kept; null where none was replaced. */
  readonly program: { readonly place: string; readonly kept: string } | null
  /** The file that was replaced; null where none was. */
  readonly file: {
    readonly path: string
    readonly content: Uint8Array
    readonly mode: number
  } | null
  /** Of the service as it was. */
  readonly definition: Definition
}

/** Keep a copy of the program in a place. Returns where; null where there is none, or a link that leads nowhere. */
export function keepProgram(machine: Machine, place: string): string | null {
  if (machine.look(place) === null) return null
  const kept = keptOf(place)
  try {
    machine.copy(place, kept, 0o755)
    return kept
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
}

/** Remove the copy; one that cannot be removed is replaced by the next installation. */
export function forgetProgram(machine: Machine, kept: string | null): void {
  try {
    if (kept !== null) machine.remove(kept)
  } catch {
    // The service does not need it gone.
  }
}

/** Puts the files back, and tells what could not be. */
export function putBack(machine: Machine, { program, file }: Former): string[] {
  const faults: string[] = []
  const attempt = (work: () => void, fault: string) => {
    try {
      work()
    } catch (cause) {
      faults.push(`${fault} (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`)
    }
  }
  if (program !== null) {
    const { place, kept } = program
    attempt(() => {
      machine.copy(kept, place, 0o755)
      forgetProgram(machine, kept)
    }, `The program from before could not be put back into ${place}, and is kept as ${kept}`)
  }
  if (file !== null)
    attempt(
      () => machine.write(file.path, file.content, file.mode),
      `${file.path} from before could not be put back`,
    )
  return faults
}

/**
 * Start the service from before again.
 * @returns how it stands now
 */
export async function startAgain(machine: Machine, { definition }: Former): Promise<string> {
  const { before, end, start, startWaits, health, ask } = definition
  for (const words of startWaits ? before : [...before, ...end]) await machine.run(words)
  const steps = start.map((words) => ({ words, env: {} }))
  if (!startWaits) steps.push({ words: waiting(definition), env: health.env })
  for (const { words, env } of steps) {
    if ((await machine.run(words, env)).code === 0) continue
    return definition.refusesState(await machine.run(ask))
      ? 'but does not run: the newer one has brought the state forward, and the one from before refuses it (exit code 7). Put right what is said above and install the newer one again, or put back the copies of the databases ("Upgrading" in docs/operations.md) and start the service'
      : `but does not run: "${words.join(' ')}" failed for it, too. Look at the log: ${definition.log}`
  }
  return 'and runs again'
}
