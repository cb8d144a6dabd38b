/** The counts of a drill. */
import type { Outcome } from './attack.ts'

/** Creates a counter of answers that records the wrong ones. */
export function counted() {
  const answers = new Map<string, number>()
  const faults: string[] = []
  let sent = 0
  return {
    /** Counts an answer; `fault` is its error, if any. */
    record: (what: string, fault: string | null = null) => {
      sent++
      answers.set(what, (answers.get(what) ?? 0) + 1)
      if (fault !== null) faults.push(fault)
    },
    outcome: (): Outcome => ({ sent, answers, faults }),
  }
}
