/** A PostgreSQL for the examples: prints the URL of an empty database, and ends with SIGTERM, leaving nothing behind. */
import { startPostgres } from '../test/service/postgres.ts'

const postgres = await startPostgres()
process.once('SIGTERM', () => void postgres.stop().then(() => process.exit()))
console.log(await postgres.newDatabase())
