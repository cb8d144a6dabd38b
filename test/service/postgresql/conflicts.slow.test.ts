/**
 * The account server on a PostgreSQL that behaves as a distributed engine does: all transactions
 * are serializable, some are undone, and some connections are lost.
 */
import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { accountSuite } from '../../account.suite.ts'
import { newPostgresPlace, withoutPostgres } from '../engines.ts'
import { openSubject } from '../subject.ts'

/** One of so many queries is undone, and one of so many in transactions loses its connection. */
const EVERY = 100

const UNDO = `do $$ begin raise exception 'undone by the test' using errcode = '40001'; end $$`

type Given = [query: string | { text: string; values?: unknown[] }, ...rest: unknown[]]
interface Client {
  readonly connection: { readonly stream: { destroy(): void } }
  getTransactionStatus(): string
}

const { prototype } = pg.Client
const plainly = Reflect.get(prototype, 'query') as (this: Client, ...given: Given) => unknown
/** Servers are opened without faults: a migration is not repeated. */
let opening = 0
const counts = { queries: 0, inTransactions: 0, undone: 0, lost: 0, serializable: 0 }

function disturbed(this: Client, ...given: Given): unknown {
  const [query, ...rest] = given
  const text = typeof query === 'string' ? query : query.text
  if (opening > 0) return Reflect.apply(plainly, this, given)
  if (text === 'start transaction isolation level read committed') {
    counts.serializable += 1
    return Reflect.apply(plainly, this, ['start transaction isolation level serializable', ...rest])
  }
  counts.queries += 1
  if (counts.queries % EVERY === 0 && text !== 'rollback') {
    counts.undone += 1
    return Reflect.apply(plainly, this, [UNDO])
  }
  // After a commit without an answer, nothing is known, so the request fails.
  if (this.getTransactionStatus() === 'T' && text !== 'commit') {
    counts.inTransactions += 1
    if (counts.inTransactions % EVERY === 0) {
      counts.lost += 1
      this.connection.stream.destroy()
    }
  }
  return Reflect.apply(plainly, this, given)
}

async function openDisturbed() {
  opening += 1
  try {
    const place = await newPostgresPlace()
    const client = new pg.Client(place.url!)
    await client.connect()
    const name = new URL(place.url!).pathname.slice(1)
    await client.query(`alter database ${name} set default_transaction_isolation = 'serializable'`)
    await client.end()
    return await openSubject(place)
  } finally {
    opening -= 1
  }
}

describe('PostgreSQL with serializable transactions and faults', { skip: withoutPostgres }, () => {
  before(() => {
    Object.assign(prototype, { query: disturbed })
  })
  after(() => {
    Object.assign(prototype, { query: plainly })
    assert.ok(counts.serializable > 500, JSON.stringify(counts))
    assert.ok(counts.undone > 50 && counts.lost > 20, JSON.stringify(counts))
  })

  accountSuite('PostgreSQL', openDisturbed)
})
