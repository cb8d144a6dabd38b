/**
 * Starts a PostgreSQL server for the examples and prints the URL of an empty database. At a signal
 * it stops the server and deletes its data.
 */
import { constants } from 'node:os'

// The handlers are set before the server starts, so that no signal leaves it running.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => process.exit(128 + constants.signals[signal]))

const { startPostgres } = await import('../test/service/postgres.ts')
const postgres = await startPostgres()
console.log(await postgres.newDatabase())
