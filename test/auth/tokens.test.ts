/**
 * Tests API tokens: what each one allows and until when.
 * The cases include restarts, edits of the database and crashes at any moment.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { type Tokens, openTokens } from '../../src/auth/tokens.ts'
import { checkToken } from '../../src/crypto/token.ts'
import { AppError } from '../../src/errors.ts'
import type { Keychain } from '../../src/keychain/backend.ts'
import { openFolder } from '../../src/storage/folder.ts'
import { type State, openState } from '../../src/state/state.ts'
import { memoryKeychain } from '../keychain/memory.ts'

const COMMAND_LINE = 'csd_the-token-of-the-command-line'
const T0 = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

let dir: string
let state: State
let keychain: Keychain
let clock: number
/** The account that is signed in. */
let account: string | null
let tokens: Tokens

const open = (
  over: { keychain?: Keychain; rows?: State['tokens']; commandLineToken?: () => string } = {},
) =>
  openTokens({
    keychain,
    rows: state.tokens,
    now: () => clock,
    commandLineToken: () => COMMAND_LINE,
    account: () => account,
    ...over,
  })

/** Reopens the state as a start of the daemon does: only what was written remains. */
const restart = () => {
  state.close()
  state = openState(dir)
  tokens = open()
}

beforeEach(() => {
  dir = join(mkdtempSync(join(tmpdir(), 'countersign-test-')), 'state')
  openFolder(dir)
  state = openState(dir)
  keychain = memoryKeychain()
  clock = T0
  account = 'acc_ada'
  tokens = open()
})
afterEach(() => {
  state.close()
  rmSync(join(dir, '..'), { recursive: true, force: true })
})

const INVALID = { name: 'AppError', code: 'invalid_token' }
const refused = (token: string) => assert.throws(() => tokens.authenticate(token), INVALID)
const tokenCount = () => state.tokens.all().length
const rowOf = (id: string) => state.tokens.all().find((row) => row.id === id)

test('a token is shown once, and works for its scope', () => {
  for (const scope of ['read', 'write', 'full'] as const) {
    const made = tokens.mint({ name: 'n', scope })
    assert.equal(checkToken(made.token), 'csd')
    assert.match(made.id, /^tok_[0-9a-z]{26}$/)
    assert.deepEqual(tokens.authenticate(made.token), { token: made.id, scope, machine: null })
    assert(!JSON.stringify([tokens.list(), state.tokens.all()]).includes(made.token))
    assert(!(keychain.get(`token/${made.id}`) ?? assert.fail()).includes(made.token))
  }
})

test('the list has the same values as the answer to minting', () => {
  const { token: _, ...made } = tokens.mint({
    name: 'n',
    scope: 'read',
    label: 'l',
    expires_in: 60,
  })
  const answer = {
    name: 'n',
    label: 'l',
    scope: 'read',
    created_at: '2026-01-02T03:04:05.678Z',
    expires_at: '2026-01-02T03:05:05.678Z',
  }
  assert.partialDeepStrictEqual(made, answer)
  assert.deepEqual(tokens.list(), [{ ...made, bound: false, state: 'active', last_used_at: null }])
  const plain = tokens.mint({ name: 'n', scope: 'read' })
  assert.deepEqual([plain.label, plain.expires_at], [null, null])
})

test('the list is newest first, across restarts', () => {
  const ids = [1, 2, 3].map(() => tokens.mint({ name: 'n', scope: 'read' }).id)
  assert.deepEqual(
    tokens.list().map(({ id }) => id),
    ids.toReversed(),
  )
  restart()
  assert.deepEqual(
    tokens.list().map(({ id }) => id),
    ids.toReversed(),
  )
})

for (const wrong of [
  '',
  'x',
  'csd_',
  `csd_${'0'.repeat(36)}`,
  COMMAND_LINE.toUpperCase(),
  `${COMMAND_LINE} `,
])
  test(`${JSON.stringify(wrong)} is not a token`, () => {
    refused(wrong)
  })

test('the command line’s token works for everything and is not listed', () => {
  assert.deepEqual(tokens.authenticate(COMMAND_LINE), {
    token: null,
    scope: 'owner',
    machine: null,
  })
  assert.deepEqual(tokens.list(), [])
  tokens = open({ commandLineToken: () => 'of another run' })
  refused(COMMAND_LINE)
  refused('')
})

test('a token is valid up to its last millisecond', () => {
  const { token, id } = tokens.mint({ name: 'n', scope: 'full', expires_in: 1 })
  clock = T0 + 999
  assert.equal(tokens.authenticate(token).token, id)
  assert.equal(tokens.list()[0]?.state, 'active')
  clock = T0 + 1000
  refused(token)
  assert.equal(tokens.list()[0]?.state, 'expired')
  restart()
  refused(token)
})

test('expired, revoked and unknown tokens get the same error', () => {
  const expired = tokens.mint({ name: 'n', scope: 'read', expires_in: 1 })
  const revoked = tokens.mint({ name: 'n', scope: 'read' })
  tokens.revoke(revoked.id)
  clock += 2000
  const words = [expired.token, revoked.token, 'csd_unknown'].map((token) => {
    try {
      return assert.fail(JSON.stringify(tokens.authenticate(token)))
    } catch (error) {
      assert(error instanceof AppError)
      return JSON.stringify([error, error.headers])
    }
  })
  assert.equal(new Set(words).size, 1)
  assert.match(words[0] ?? '', /invalid_token/)
})

test('a revocation applies at once, can be repeated, and survives a restart', () => {
  const [remaining, gone] = [
    tokens.mint({ name: 'n', scope: 'full' }),
    tokens.mint({ name: 'n', scope: 'full' }),
  ]
  tokens.authenticate(gone.token)
  tokens.revoke(gone.id)
  refused(gone.token)
  clock += 5000
  tokens.revoke(gone.id)
  const state1 = () => tokens.list().map(({ id, state }) => [id, state])
  assert.deepEqual(state1(), [
    [gone.id, 'revoked'],
    [remaining.id, 'active'],
  ])
  assert.equal(rowOf(gone.id)?.revoked_at, T0)
  restart()
  refused(gone.token)
  assert.equal(tokens.authenticate(remaining.token).token, remaining.id)
  assert.deepEqual(state1(), [
    [gone.id, 'revoked'],
    [remaining.id, 'active'],
  ])
})

test('a revoked token stays revoked after its expiry', () => {
  const { id } = tokens.mint({ name: 'n', scope: 'read', expires_in: 1 })
  tokens.revoke(id)
  clock += 5000
  assert.equal(tokens.list()[0]?.state, 'revoked')
})

for (const id of ['tok_x', '', 'con_01k9zq3v5w8x2y4z6a8b0c2d4e', '__proto__'])
  test(`there is no token ${JSON.stringify(id)} to revoke`, () => {
    tokens.mint({ name: 'n', scope: 'read' })
    assert.throws(() => tokens.revoke(id), { name: 'AppError', code: 'not_found' })
  })

test('the keychain’s record decides: an edited database neither widens, extends nor revives a token', () => {
  const narrow = tokens.mint({ name: 'n', scope: 'read', expires_in: 60 })
  const wide = tokens.mint({ name: 'n', scope: 'full' })
  // Puts the hash of the narrow token on the row of the wide one.
  const { hash } = rowOf(narrow.id) ?? assert.fail()
  state.db.exec(`delete from tokens where id = '${narrow.id}'`)
  state.db.exec(`update tokens set hash = '${hash}' where id = '${wide.id}'`)
  restart()
  refused(narrow.token)
  refused(wide.token)
})

test('a row added to the database is not a valid token', () => {
  const made = tokens.mint({ name: 'n', scope: 'read', expires_in: 1 })
  clock += 5000
  const { hash } = rowOf(made.id) ?? assert.fail()
  state.db.exec(
    `update tokens set id = 'tok_invented', created_at = ${clock} where hash = '${hash}'`,
  )
  restart()
  assert.throws(() => tokens.authenticate(made.token), { code: 'keychain_locked' })
})

test('the record is read at the first use, not at the start', () => {
  const { token, id } = tokens.mint({ name: 'n', scope: 'read' })
  const asked: string[] = []
  const counting: Keychain = {
    ...keychain,
    get: (name) => {
      asked.push(name)
      return keychain.get(name)
    },
  }
  tokens = open({ keychain: counting })
  assert.deepEqual(asked, [])
  tokens.authenticate(token)
  tokens.authenticate(token)
  assert.deepEqual(asked, [`token/${id}`])
})

test('a locked keychain is not reported as a wrong token', () => {
  const { token } = tokens.mint({ name: 'n', scope: 'read' })
  const locked: Keychain = {
    ...keychain,
    get: () => {
      throw new AppError('keychain_locked', 'locked')
    },
  }
  tokens = open({ keychain: locked })
  assert.throws(() => tokens.authenticate(token), { code: 'keychain_locked' })
  refused('csd_unknown')
})

test('a token without its keychain entry is rejected, and can be revoked', () => {
  const [remaining, gone] = [
    tokens.mint({ name: 'n', scope: 'full' }),
    tokens.mint({ name: 'n', scope: 'full' }),
  ]
  keychain.delete(`token/${gone.id}`)
  restart()
  assert.throws(
    () => tokens.authenticate(gone.token),
    (error) => {
      assert(error instanceof AppError && error.code === 'keychain_locked')
      assert(error.message.includes(gone.id))
      return true
    },
  )
  tokens.revoke(gone.id)
  refused(gone.token)
  assert.deepEqual(
    tokens.list().map(({ id }) => id),
    [remaining.id],
  )
})

const crash = () => assert.fail('crash')

test('a crash before the keychain has the record leaves no token', () => {
  tokens = open({ keychain: { ...keychain, set: crash } })
  assert.throws(() => tokens.mint({ name: 'n', scope: 'full' }), /crash/)
  assert.equal(tokenCount(), 0)
  assert.deepEqual(tokens.list(), [])
})

test('a crash between keychain and row leaves no usable token', () => {
  const written: string[] = []
  const watched: Keychain = {
    ...keychain,
    set: (name, secret) => {
      written.push(name)
      keychain.set(name, secret)
    },
  }
  tokens = openTokens({
    keychain: watched,
    rows: { ...state.tokens, insert: crash },
    now: () => clock,
    commandLineToken: () => '',
    account: () => account,
  })
  assert.throws(() => tokens.mint({ name: 'n', scope: 'full' }), /crash/)
  assert.equal(written.length, 1, 'the keychain comes first')
  assert.deepEqual(tokens.list(), [])
  restart()
  assert.deepEqual(tokens.list(), [])
  // A record without a row gives no access, since no hash leads to it. It is deleted
  // nevertheless.
  assert.equal(tokenCount(), 0)
  assert.equal(keychain.get(written[0] ?? ''), null)
})

test('the leftover of a failed attempt in a locked keychain is deleted before the next token', () => {
  let left = ''
  let locked = true
  const locking: Keychain = {
    ...keychain,
    set: (name, secret) => {
      left ||= name
      keychain.set(name, secret)
    },
    delete: (name) => (locked ? crash() : keychain.delete(name)),
  }
  tokens = open({ keychain: locking, rows: { ...state.tokens, insert: crash } })
  assert.throws(() => tokens.mint({ name: 'n', scope: 'full' }), /crash/)
  tokens = open({ keychain: locking })
  assert.notEqual(keychain.get(left), null)
  locked = false
  const { token } = tokens.mint({ name: 'n', scope: 'full' })
  assert.equal(keychain.get(left), null)
  tokens.authenticate(token)
})

test('a revocation that cannot be written is an error', () => {
  const { id, token } = tokens.mint({ name: 'n', scope: 'full' })
  tokens = openTokens({
    keychain,
    rows: { ...state.tokens, revoke: crash },
    now: () => clock,
    commandLineToken: () => '',
    account: () => account,
  })
  assert.throws(() => tokens.revoke(id), /crash/)
  assert.equal(tokens.authenticate(token).token, id)
})

test('the last use is visible at once and written by flush', () => {
  const { id, token } = tokens.mint({ name: 'n', scope: 'read' })
  const stored = () => rowOf(id)?.last_used_at
  clock = T0 + 1000
  tokens.authenticate(token)
  clock = T0 + 2000
  tokens.authenticate(token)
  assert.equal(tokens.list()[0]?.last_used_at, '2026-01-02T03:04:07.678Z')
  assert.equal(stored(), null)
  tokens.flush()
  assert.equal(stored(), T0 + 2000)
  restart()
  assert.equal(tokens.list()[0]?.last_used_at, '2026-01-02T03:04:07.678Z')
})

test('flush writes only tokens that were used since the last one', () => {
  const { token } = tokens.mint({ name: 'n', scope: 'read' })
  const touched: unknown[][] = []
  tokens = openTokens({
    keychain,
    rows: { ...state.tokens, touch: (uses) => void touched.push([...uses]) },
    now: () => clock,
    commandLineToken: () => COMMAND_LINE,
    account: () => account,
  })
  tokens.flush()
  tokens.authenticate(COMMAND_LINE)
  tokens.flush()
  assert.deepEqual(touched, [])
  tokens.authenticate(token)
  tokens.flush()
  tokens.flush()
  assert.equal(touched.length, 1)
})

test('a rejected token does not count as used', () => {
  const { id, token } = tokens.mint({ name: 'n', scope: 'read', expires_in: 1 })
  clock += 5000
  refused(token)
  tokens.flush()
  assert.equal(rowOf(id)?.last_used_at, null)
})

test('a revocation survives a restored database', () => {
  const { token, id } = tokens.mint({ name: 'n', scope: 'full' })
  tokens.revoke(id)
  state.db.prepare('update tokens set revoked_at = null').run()
  tokens = open()
  refused(token)
  assert.equal(tokens.list()[0]?.state, 'revoked')
})

test('a token works only for the account that made it', () => {
  const own = tokens.mint({ name: 'n', scope: 'full' })
  account = 'acc_bob'
  for (let i = 0; i < 2; i++) {
    refused(own.token)
    assert.deepEqual(tokens.list(), [])
    restart()
  }
  const others = tokens.mint({ name: 'm', scope: 'read' })
  assert.deepEqual(
    tokens.list().map(({ id }) => id),
    [others.id],
  )
  account = 'acc_ada'
  assert.equal(tokens.authenticate(own.token).token, own.id)
  refused(others.token)
})

test('a token made without an account does not work for an account that signs in later', () => {
  account = null
  const { token, id } = tokens.mint({ name: 'n', scope: 'full' })
  assert.equal(tokens.authenticate(token).token, id)
  account = 'acc_ada'
  refused(token)
  restart()
  refused(token)
  account = null
  assert.equal(tokens.authenticate(token).token, id)
})

test('after sign-out a token still reads the state of the daemon', () => {
  const { token, id } = tokens.mint({ name: 'n', scope: 'full' })
  account = null
  assert.equal(tokens.authenticate(token).token, id)
  assert.deepEqual(
    tokens.list().map((one) => one.id),
    [id],
  )
})
