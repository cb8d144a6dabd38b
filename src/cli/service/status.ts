/**
 * The status of the service: the state that its manager reports, and whether the daemon answers.
 */
import type { Definition, ServiceState } from './definition.ts'
import type { Host } from './machine.ts'

export interface ServiceReport extends ServiceState {
  /** The file that defines the service; null if it is not installed. */
  readonly installed: string | null
  readonly healthy: boolean
}

/** Queries the manager, and also the daemon if the manager reports that it runs. */
export async function reportOf(machine: Host, definition: Definition): Promise<ServiceReport> {
  const { file, ask, health } = definition
  const isThere = machine.look(file.path) !== null
  const standing = definition.standing(await machine.run(ask))
  const asked = standing.running ? await machine.run(health.words, health.env) : null
  return { installed: isThere ? file.path : null, ...standing, healthy: asked?.code === 0 }
}

const yes = (is: boolean) => (is ? 'yes' : 'no')

/** Returns the report as lines of text. */
export function linesOf({ installed, enabled, running, since, healthy }: ServiceReport): string[] {
  if (installed === null && !running)
    return ['The service is not installed: countersignd service install']
  return [
    `installed  ${installed ?? 'no'}`,
    `enabled    ${yes(enabled)}`,
    `running    ${running && since !== null ? `since ${since}` : yes(running)}`,
    `health     ${healthy ? 'the daemon answers' : running ? 'the daemon does not answer as itself' : 'nothing runs'}`,
  ]
}
