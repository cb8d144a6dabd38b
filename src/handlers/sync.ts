import type { Handlers } from './context.ts'

export const sync: Handlers['sync'] = {
  read: async (_input, { local }) => ({ last_sync: local.sync.last() }),

  /** A failure is answered as an error of the request; `read` still has the report of it. */
  run: async (_input, { local }) => {
    const report = await local.sync.runAnew('request')
    const failure = local.sync.failureOf(report)
    if (failure !== null) throw failure
    return { last_sync: report }
  },
}
