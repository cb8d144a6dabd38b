/**
 * The PostgreSQL of a whole run, with a migrated database to copy. `test/setup.ts` starts it in a
 * process of its own, because initdb changes the environment. It prints the URL of the server, and
 * runs until its input ends.
 */
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { openServiceDatabase } from './database.ts'
import { MIGRATED } from './offered.ts'
import { startPostgres } from './postgres.ts'

const postgres = await startPostgres()
const migrated = new URL(await postgres.newDatabase())
await (await openServiceDatabase({ url: migrated.href, file: '' })).close()

const server = new URL(migrated)
server.pathname = 'postgres'
const client = new pg.Client(server.href)
await client.connect()
await client.query(`alter database ${migrated.pathname.slice(1)} rename to ${MIGRATED}`)
// PostgreSQL copies a database only while it has no connections.
await client.query(`alter database ${MIGRATED} allow_connections false`)
await client.end()

console.log(server.href)
await text(process.stdin)
await postgres.stop()
