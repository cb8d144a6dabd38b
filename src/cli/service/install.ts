/**
 * Installs the service, or a new version over an old one: the program to its place, the key, the definition, and the commands that start
 * it. Where a step fails, an installation that was begun is taken back, and one that was there is put back.
 */
import { StartError, isFullDisk } from '../../errors.ts'
import { type Definition, type ServiceFile, type Words, waiting } from './definition.ts'
import { type Former, forgetProgram, keepProgram, keptOf, putBack, startAgain } from './previous.ts'
import type { Machine, Ran } from './machine.ts'

export interface Plan {
  readonly definition: Definition
  /** The executable that is copied, and where to; null where the program runs from where it is. */
  readonly copy: { readonly from: string; readonly to: string } | null
  /** A file beside it that only the first installation makes; null for none. */
  readonly beside: { readonly path: string; make(): void } | null
  /** The service that is there, whose daemon is asked in the folder that it has; absent, as `definition`. */
  readonly former?: Definition
}

/** The bytes of a file as it is written. */
export const bytesOf = ({ content, encoding }: ServiceFile): Buffer =>
  Buffer.from(content, encoding)

const shown = (words: Words) => words.join(' ')

/** What a command said, for whoever has to find out why. */
const saidBy = ({ code, out, err }: Ran) =>
  [`(exit code ${code ?? 'none'})`, (err.trim() || out.trim()).split('\n').slice(-8).join('\n')]
    .join(' ')
    .trim()

/** Throws StartError: which step failed, what it said, what to do. */
async function demand(machine: Machine, words: Words, remedy: string): Promise<void> {
  const ran = await machine.run(words)
  if (ran.code !== 0)
    throw new StartError('failed', `"${shown(words)}" failed ${saidBy(ran)}\n${remedy}`)
}

/** Throws StartError for what a file system refuses; everything else as it is. */
function step(what: string, work: () => void): void {
  try {
    work()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (cause instanceof StartError || code === undefined) throw cause
    const remedy = isFullDisk(cause)
      ? 'The disk is full: make room.'
      : 'Check the permissions there, or run this as a user who may write there.'
    throw new StartError('failed', `${what} cannot be written (${code}). ${remedy}`, cause)
  }
}

/** Take away what is installed, as far as that goes; whatever is left is named. */
export async function takeAway(
  machine: Machine,
  { definition }: Pick<Plan, 'definition'>,
  programs: readonly string[],
): Promise<string[]> {
  for (const words of definition.end) await machine.run(words)
  const left: string[] = []
  for (const path of [definition.file.path, ...programs])
    try {
      machine.remove(path)
    } catch (cause) {
      left.push(`${path} (${(cause as NodeJS.ErrnoException).code})`)
    }
  for (const words of definition.after) await machine.run(words)
  return left
}

async function start(machine: Machine, { definition }: Plan): Promise<void> {
  const look = `Look at the log: ${definition.log}`
  for (const words of definition.start) await demand(machine, words, look)
  if (definition.startWaits) return
  const ran = await machine.run(waiting(definition), definition.health.env)
  if (ran.code !== 0)
    throw new StartError(
      'daemonSilent',
      `The service was started and does not answer within 60 seconds ${saidBy(ran)}\n${look}`,
    )
}

/** What is said after a failure of an installation over an older one. */
async function backTo(machine: Machine, former: Former, begun: boolean): Promise<string> {
  const faults = putBack(machine, former)
  if (faults.length > 0)
    return `The installation from before could not be put back:\n${faults.join('\n')}`
  const isReplaced = former.program !== null || former.file !== null
  if (!begun)
    return `The service stays installed as it ${isReplaced ? 'was' : 'is'}; once this is put right, install it again.`
  const what = former.program === null ? 'The definition' : 'The service'
  return `${what} from before is in its place again, ${await startAgain(machine, former)}.`
}

/**
 * Carry a plan out.
 * @returns whether the service was there before
 * @throws StartError of the step that failed, after which nothing half is installed
 */
export async function install(machine: Machine, plan: Plan): Promise<{ wasThere: boolean }> {
  const { definition, copy, beside } = plan
  const { file } = definition
  for (const { words, remedy } of definition.demands) await demand(machine, words, remedy)
  const seen = machine.look(file.path)
  const wasThere = seen !== null
  const hadProgram = copy !== null && machine.look(copy.to) !== null
  let former: Former = { program: null, file: null, definition: plan.former ?? definition }
  let kept: string | null = null
  let written = false
  let begun = false
  try {
    if (beside !== null) step(beside.path, () => beside.make())
    if (copy !== null) step(keptOf(copy.to), () => void (kept = keepProgram(machine, copy.to)))
    const content = wasThere ? machine.read(file.path) : null
    // From here on an older service may be at rest.
    begun = wasThere && definition.before.length > 0 && !definition.startWaits
    if (wasThere) for (const words of definition.before) await machine.run(words)
    if (copy !== null) step(copy.to, () => machine.copy(copy.from, copy.to, 0o755))
    if (copy !== null && kept !== null) former = { ...former, program: { place: copy.to, kept } }
    step(file.path, () => machine.write(file.path, bytesOf(file), file.mode))
    written = true
    if (content !== null)
      former = { ...former, file: { path: file.path, content, mode: seen?.mode ?? file.mode } }
    begun = wasThere
    // launchd knows only what it was told anew.
    if (wasThere && !definition.startWaits)
      for (const words of definition.end) await machine.run(words)
    await start(machine, plan)
    forgetProgram(machine, kept)
    return { wasThere }
  } catch (error) {
    const made = copy === null || hadProgram ? null : copy.to
    if (!wasThere && written) await takeAway(machine, plan, made === null ? [] : [made])
    else if (!wasThere && made !== null) machine.remove(made)
    if (wasThere) forgetProgram(machine, made)
    const faults = wasThere ? [] : putBack(machine, former)
    const what = wasThere
      ? await backTo(machine, former, begun)
      : ['Nothing was left installed.', ...faults].join('\n')
    if (former.program === null) forgetProgram(machine, kept)
    if (!(error instanceof StartError)) throw error
    throw Object.assign(error, { message: `${error.message}\n${what}` })
  }
}
