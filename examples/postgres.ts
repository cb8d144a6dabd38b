/**
 * A PostgreSQL for the examples. It prints the URL of an empty database, runs until a signal, and
 * then deletes its data.
 */
import { constants } from 'node:os'

// Before any process is started that would have to be stopped.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => process.exit(128 + constants.signals[signal]))

const { startPostgres } = await import('../test/service/postgres.ts')
const postgres = await startPostgres()
console.log(await postgres.newDatabase())
