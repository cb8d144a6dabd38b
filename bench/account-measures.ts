/** The operations that the accounts benchmark measures. */
import type { Account, UnauthenticatedClient } from '../src/api/port.ts'
import type { TestDaemon } from '../test/daemon.ts'
import { codeIn, lettersIn } from '../test/service/letters.ts'
import { furtherOf, newcomerOf } from '../test/service/person.ts'
import { type Row, addressOf } from './account-rows.ts'
import { timed } from './figures.ts'

/** An account server with `size` accounts, and the clients that call it. */
export interface Bench {
  readonly size: number
  readonly url: string
  readonly rows: readonly Row[]
  readonly door: UnauthenticatedClient
  readonly account: Account
  readonly daemon: TestDaemon
  readonly token: string
  readonly mailDir: string
}

export interface Measure {
  readonly name: string
  /** How often it runs in a round. */
  readonly times: number
  /** Runs it once; `n` is a new number each time. Returns milliseconds. */
  readonly once: (bench: Bench, n: number) => Promise<number>
}

/**
 * The smallest table's number of accounts. Measures use as many at every size, since a key log
 * that was verified before is faster to verify again.
 */
const SEEN = 100
const rowAt = ({ rows }: Bench, n: number) => rows[((n % SEEN) * 7919) % rows.length] as Row

export const MEASURES: readonly Measure[] = [
  {
    // Signs in an account that already has a laptop, so that the number of accounts does not
    // change.
    name: 'sign-in',
    times: 4,
    once: async ({ door, mailDir, size }, n) => {
      const email = addressOf((n * 7) % size)
      const newcomer = newcomerOf()
      const asked = await timed(() => door.signIns.create({ body: { email } }))
      const code = codeIn((await lettersIn(mailDir, email)).at(-1)!)
      const read = await timed(() => door.signIns.read({ body: { code } }))
      const enrolled = await timed(() => door.enrolment.further(furtherOf(newcomer, code)))
      return asked + read + enrolled
    },
  },
  {
    name: 'sync',
    times: 5,
    once: async ({ daemon, token }) => {
      const request = async (method: string, path: string, body?: object) => {
        const { status, json, text } = await daemon.request(method, path, { token, body })
        if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`)
        return json as { items: { id: string }[]; words: string; last_sync: { ok: boolean } }
      }
      // So that there is an entry to upload: own words are logged, and count as no guess.
      const [{ id }] = (await request('GET', '/api/v1/connections')).items as [{ id: string }]
      const { words } = await request('GET', `/api/v1/connections/${id}/code`)
      await request('POST', '/api/v1/verify', { words })
      return timed(async () => {
        const { last_sync } = await request('POST', '/api/v1/sync')
        if (!last_sync.ok) throw new Error(`sync: ${JSON.stringify(last_sync)}`)
      })
    },
  },
  {
    name: 'profile',
    times: 20,
    once: (bench, n) => timed(() => bench.account.profiles.read({ id: rowAt(bench, n).account })),
  },
  {
    name: 'its keys',
    times: 10,
    once: (bench, n) => timed(() => bench.account.profiles.keys({ id: rowAt(bench, n).account })),
  },
]
