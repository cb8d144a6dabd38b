/** Actions that share one transaction: what each of them stores, and what a failure undoes. */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { AppError } from '../../src/errors.ts'
import { newGroupCommit } from '../../src/storage/group-commit.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

/** Opens a database with a table, and a second connection that sees only what is committed. */
function opened(t: TestContext) {
  const path = join(freshFolder(t), 'group.db')
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: true })
  db.exec(`pragma journal_mode = wal; pragma synchronous = full;
    create table parents (id integer primary key);
    create table rows (name text, parent references parents deferrable initially deferred)`)
  const other = new DatabaseSync(path)
  t.after(() => {
    other.close()
    db.close()
  })
  const insert = db.prepare('insert into rows (name, parent) values (?, ?)')
  return {
    db,
    groupCommit: newGroupCommit(db),
    add: (name: string, parent: number | null = null) => {
      insert.run(name, parent)
      return name
    },
    committed: () => {
      const rows = other.prepare('select name from rows order by rowid').all()
      return rows.map((row) => String(row['name']))
    },
    logBytes: () => statSync(`${path}-wal`).size,
  }
}

const outcomes = async (all: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(all)).map((one) =>
    one.status === 'fulfilled' ? one.value : (one.reason as Error).message,
  )
const failing = () => {
  throw new Error('failed')
}

test('actions of one turn are committed together, in their order, before any promise resolves', async (t) => {
  const { groupCommit, add, committed, logBytes } = opened(t)
  await groupCommit(() => add('alone'))
  const before = logBytes()
  await groupCommit(() => add('again'))
  const one = logBytes() - before
  const seen: string[][] = []
  const done = ['a', 'b', 'c'].map((name) =>
    groupCommit(() => {
      seen.push(committed())
      return add(name)
    }),
  )
  const first = done[0]!.then(committed)
  assert.deepEqual(await outcomes(done), ['a', 'b', 'c'])
  const all = ['alone', 'again', 'a', 'b', 'c']
  assert.deepEqual(await first, all)
  assert.deepEqual(
    seen,
    [0, 1, 2].map(() => all.slice(0, 2)),
  )
  assert.equal(logBytes() - before, 2 * one, 'one commit for all three')
})

test('an action that throws undoes only its own changes', async (t) => {
  const { groupCommit, add, committed } = opened(t)
  const done = [
    groupCommit(() => add('a')),
    groupCommit(() => {
      add('undone')
      failing()
    }),
    groupCommit(() => add('c')),
  ]
  assert.deepEqual(await outcomes(done), ['a', 'failed', 'c'])
  assert.deepEqual(committed(), ['a', 'c'])
  assert.deepEqual(await outcomes([groupCommit(failing)]), ['failed'])
})

test('an action of a later turn has another transaction', async (t) => {
  const { groupCommit, add, committed } = opened(t)
  const first = groupCommit(() => {
    void groupCommit(() => add('later'))
    return add('first')
  })
  await first
  assert.deepEqual(committed(), ['first'])
  await groupCommit(() => add('last'))
  assert.deepEqual(committed(), ['first', 'later', 'last'])
})

test('a commit that fails rejects all actions, and stores none', async (t) => {
  const { groupCommit, add, committed } = opened(t)
  const done = [groupCommit(() => add('a')), groupCommit(() => add('orphan', 7))]
  const why = 'FOREIGN KEY constraint failed'
  assert.deepEqual(await outcomes(done), [why, why])
  assert.deepEqual(committed(), [])
  assert.equal(await groupCommit(() => add('next')), 'next')
})

test('a full disk rejects all actions as storage_full, and stores none', async (t) => {
  const { db, groupCommit, add, committed } = opened(t)
  const { page_count: pages } = db.prepare('pragma page_count').get() as { page_count: number }
  db.exec(`pragma max_page_count = ${pages}`)
  const done = [
    groupCommit(() => add('a')),
    groupCommit(() => add('x'.repeat(100_000))),
    groupCommit(() => add('c')),
  ]
  for (const one of await Promise.allSettled(done)) {
    assert.equal(one.status, 'rejected')
    assert.ok(one.reason instanceof AppError && one.reason.code === 'storage_full')
  }
  assert.deepEqual(committed(), [])
  db.exec('pragma max_page_count = 1000000')
  assert.equal(await groupCommit(() => add('next')), 'next')
})
