/** What the plays count. */
import type { Outcome } from './attack.ts'

/** Count answers, and note the faults among them. */
export function counted() {
  const said = new Map<string, number>()
  const faults: string[] = []
  let sent = 0
  return {
    /** An answer came; `fault` is what is wrong with it. */
    heard: (what: string, fault: string | null = null) => {
      sent++
      said.set(what, (said.get(what) ?? 0) + 1)
      if (fault !== null) faults.push(fault)
    },
    outcome: (): Outcome => ({ sent, said, faults }),
  }
}
