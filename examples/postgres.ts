/** A PostgreSQL for the examples: prints the URL of an empty database, and ends with a signal, leaving nothing behind. */
import { constants } from 'node:os'

// Before anything is begun that would have to be ended.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => process.exit(128 + constants.signals[signal]))

const { startPostgres } = await import('../test/service/postgres.ts')
const postgres = await startPostgres()
console.log(await postgres.newDatabase())
