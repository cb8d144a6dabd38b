/** Guesses of three words at a daemon that is killed and started again. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { ask, caller, newToken } from './caller.ts'
import { countersignd, startDaemon } from './program.ts'

const WRONG = 'matador carload recede'
/** The limit of a minute: a start resets this count, but not that of consecutive wrong words. */
const MOST_OF_MINUTE = 20

it('kill -9 after each twenty wrong words does not avoid the pause, and the command line is not affected', async (t) => {
  const dir = freshFolder(t)
  let token = ''
  for (let start = 0; start < 5; start++) {
    const daemon = await startDaemon(dir)
    if (token === '') {
      const made = await newToken(daemon.address)
      token = made.token
      await caller(daemon.address, token)('POST /api/v1/connections', { name: 'Bank' })
    }
    const guess = caller(daemon.address, token)
    for (let i = 0; i < MOST_OF_MINUTE; i++) {
      const { verified } = await guess('POST /api/v1/verify', { words: WRONG })
      assert.equal(verified, false)
    }
    await daemon.end('SIGKILL')
  }
  const daemon = await startDaemon(dir)
  t.after(() => daemon.end('SIGTERM'))
  const refused = await ask(daemon.address, token, 'POST /api/v1/verify', { words: WRONG })
  assert.deepEqual([refused.status, refused.body.error], [429, 'rate_limited'])
  assert.match(refused.body.message, /100 in a row from a token/)
  const seconds = Number(refused.headers.get('retry-after'))
  assert(seconds >= 1 && seconds <= 60, `${seconds}`)
  // Not a limit of a minute, which the start reset: the command line is not limited.
  const { code } = await countersignd(['verify', ...WRONG.split(' ')], dir)
  assert.equal(code, 10)
})

it('kill -9 neither ends a challenge, nor allows another try or more challenges', async (t) => {
  const dir = freshFolder(t)
  const first = await startDaemon(dir)
  const { token } = await newToken(first.address)
  const made = await caller(first.address, token)('POST /api/v1/connections', { name: 'Bank' })
  const of = { connection_id: made.id, purpose: 'Pay 12' }
  const drawn = await caller(first.address, token)('POST /api/v1/verify/challenges', of)
  await first.end('SIGKILL')

  const second = await startDaemon(dir)
  const body = { words: WRONG, challenge_id: drawn.id }
  const tried = await caller(second.address, token)('POST /api/v1/verify', body)
  assert.deepEqual([tried.verified, tried.purpose], [false, 'pay12'])
  for (let i = 0; i < 4; i++)
    await caller(second.address, token)('POST /api/v1/verify/challenges', of)
  await second.end('SIGKILL')

  const third = await startDaemon(dir)
  t.after(() => third.end('SIGTERM'))
  const again = await ask(third.address, token, 'POST /api/v1/verify', body)
  assert.deepEqual([again.status, again.body.state], [409, 'used'])
  const sixth = await ask(third.address, token, 'POST /api/v1/verify/challenges', of)
  assert.deepEqual([sixth.status, sixth.body.error], [429, 'rate_limited'])
})
