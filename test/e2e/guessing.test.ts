/** Guessing three words at a daemon that is killed and started again. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { ask, caller, newToken } from './caller.ts'
import { countersignd, startDaemon } from './program.ts'

const WRONG = 'matador carload recede'
/** Of a minute: a start counts those anew, and those in a row it does not. */
const MOST_OF_MINUTE = 20

it('kill -9 after each twenty wrong words does not keep the pause away, and the command line has none', async (t) => {
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
  // Not a limit of a minute, which the start began anew: another way of asking is free.
  const { code } = await countersignd(['verify', ...WRONG.split(' ')], dir)
  assert.equal(code, 10)
})
