/** A wrong clock: the device signs in nevertheless, and measures the offset. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CONTEXT, newIssuer, started } from './issuer.ts'
import { clientAt, json, refusal, scripted } from './scripted.ts'
import { rejects } from '../rejects.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe('a wrong clock', () => {
  for (const minutes of [-600, -10, 10, 600])
    test(`${minutes} minutes off: signs in, and measures the offset`, async (t) => {
      const here = { ms: Date.now() - minutes * MINUTE }
      const { issuer, remote, read } = await started(t, { now: () => here.ms })
      issuer.clock.ms = here.ms + minutes * MINUTE
      assert.equal(remote.offsetMs(), null)
      assert.deepEqual(await read(), CONTEXT)
      assert.equal(issuer.counts.renewals, 1)
      const offset = remote.offsetMs()!
      assert(Math.abs(offset - minutes * MINUTE) <= 1000, `${offset}`)
      // It renews when the token ends by the server’s clock, at any local time.
      for (const clock of [here, issuer.clock]) clock.ms += HOUR - 10_000
      await read()
      assert.deepEqual([issuer.counts.renewals, issuer.counts.stale], [2, 0])
    })

  test('set while the program runs: the next request succeeds', async (t) => {
    const here = { ms: Date.now() }
    const { issuer, read } = await started(t, { now: () => here.ms })
    issuer.clock.ms = here.ms
    await read()
    for (const step of [10 * MINUTE, -25 * MINUTE]) {
      here.ms += step
      assert.deepEqual(await read(), CONTEXT)
    }
    assert.equal(issuer.counts.stale, 0)
  })

  test('becomes exact with many answers', async (t) => {
    const here = { ms: 1_800_000_000_000 }
    const { issuer, remote, read } = await started(t, { now: () => here.ms })
    for (let i = 0; i < 40; i++) {
      here.ms += 437
      issuer.clock.ms = here.ms + 5_250
      await read()
    }
    assert(Math.abs(remote.offsetMs()! - 5_250) < 50, `${remote.offsetMs()}`)
  })

  test('an invalid Date changes nothing', async (t) => {
    for (const date of ['', 'now', '0', 'Sat, 99 Nov 2026 99:00:00 GMT', '2026-11-21T00:00:00Z']) {
      const { base } = await scripted(t, (res) => {
        res.sendDate = false
        if (date !== '') res.setHeader('Date', date)
        json(res, 404, refusal('not_found'))
      })
      const remote = clientAt(t, base)
      await assert.rejects(remote.door().clock.read({}))
      assert.equal(remote.offsetMs(), null)
    }
  })

  test('a Date before 1970 does not fail', async (t) => {
    const { base } = await scripted(t, (res) => {
      res.setHeader('Date', 'Mon, 01 Jan 1900 00:00:00 GMT')
      json(res, 401, refusal('invalid_token'), {
        'WWW-Authenticate': 'DPoP error="use_dpop_nonce"',
      })
    })
    const { session } = newIssuer(() => base)
    await rejects('backend_error', clientAt(t, base).account(session).context.read({}))
  })
})
