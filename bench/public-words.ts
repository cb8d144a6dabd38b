/**
 * Measures look-ups of public words at a million codes in PostgreSQL: their time beside `select 1`
 * in turn, and the resident memory of a replica that has computed the words. The memory that the
 * codes need is the difference to a run with few codes.
 *
 *   npm run bench:words            a million codes
 *   npm run bench:words -- 2000    another number
 */
import { randomInt } from 'node:crypto'
import { sql } from 'kysely'
import { ownHeap } from '../src/cli/memory.ts'
import { newBackground } from '../src/service/db/background.ts'
import { newPublicWords } from '../src/service/guests/public-words.ts'
import { newWordBuilder } from '../src/service/guests/word-builder.ts'
import { openServiceDatabase } from '../test/service/database.ts'
import { startPostgres } from '../test/service/postgres.ts'
import { quantile, say, timed } from './figures.ts'
import { fillBy } from './fill.ts'

const CODES = Number(process.argv[2] ?? 1_000_000)
const LOOK_UPS = 5000
const MIB = 2 ** 20

/** SQL for accounts with active public codes. */
const FILL = [
  `insert into accounts (id, kind, display_name)
    select 'acc_' || lpad(n::text, 26, '0'), 'person', 'A' from generate_series(1, ${CODES}) as n`,
  `insert into preferences (account_id, public_code, email_notifications)
    select id, 1, 1 from accounts`,
  `insert into public_codes (account_id, k, turn)
    select id, rtrim(translate(encode(sha256(id::bytea), 'base64'), '+/', '-_'), '='),
      row_number() over () from accounts`,
  `update public_code_turns set turn = ${CODES}`,
]

const report = (what: string, times: readonly number[]) =>
  say(
    `${what}: p50 ${quantile(times, 0.5).toFixed(2)} ms, p99 ${quantile(times, 0.99).toFixed(2)} ms`,
  )

const postgres = await startPostgres({ shared_buffers: '1GB' })
try {
  const url = await postgres.newDatabase()
  const { db, close } = await openServiceDatabase({ url, file: '' })
  await fillBy(url, FILL)
  const background = newBackground((level, event, fields) =>
    say(`${level} ${event} ${JSON.stringify(fields)}`),
  )
  const closing = new AbortController()
  const now = () => Date.now()
  const builder = newWordBuilder({ db, background, now, signal: closing.signal })
  const words = newPublicWords({ db, now, builder })
  const { user, system } = process.cpuUsage()
  builder.wake()
  await background.idle()
  const used = process.cpuUsage({ user, system })
  say(
    `${CODES} codes: computed with ${((used.user + used.system) / 1e6).toFixed(1)} s of the processor`,
  )

  const [found, plain]: [number[], number[]] = [[], []]
  const indices = () => [randomInt(4096), randomInt(4096), randomInt(4096)]
  for (let i = 0; i < LOOK_UPS; i++) {
    found.push(await timed(() => words.find(indices())))
    plain.push(await timed(() => sql`select 1`.execute(db)))
  }
  report('look-up', found)
  report('select 1', plain)
  const heap = ownHeap()
  await heap.collect()
  say(`resident memory: ${(heap.rss() / MIB).toFixed(1)} MiB`)
  closing.abort()
  await background.idle()
  await close()
} finally {
  await postgres.stop()
}
