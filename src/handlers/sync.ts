import type { Handlers } from './context.ts'

export const sync: Handlers['sync'] = {
  read: async (_input, { local }) => ({ last_sync: local.sync.last() }),

  /** Syncs now. A failure is the error of this request; `read` still returns its report. */
  run: async (_input, { local }) => {
    const report = await local.sync.runAnew('request')
    const failure = local.sync.failureOf(report)
    if (failure !== null) throw failure
    return { last_sync: report }
  },
}
