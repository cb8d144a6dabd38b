/** Tests what the device stores about whether the account server answers. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { newReachability } from '../../src/device/sync/reachability.ts'
import { AppError, type ErrorCode } from '../../src/errors.ts'

const T0 = 1_767_225_600_000
const failure = (code: ErrorCode) => new AppError(code, 'No.')

function bench(ready: () => Promise<unknown> = () => Promise.reject(new Error('asked'))) {
  const clock = { ms: T0 }
  const found = { asked: 0 }
  const watched = newReachability({
    now: () => clock.ms,
    ready: () => {
      found.asked += 1
      return ready()
    },
  })
  return { ...watched, clock, found }
}

it('is derived from the last call, without a request of its own while that is recent', async () => {
  const { note, read, found, clock } = bench()
  note(null)
  assert.deepEqual(await read(), { reachable: true, since: null })
  clock.ms += 1000
  note(failure('backend_unavailable'))
  clock.ms += 1000
  note(failure('backend_timeout'))
  assert.deepEqual(await read(), { reachable: false, since: T0 + 1000 }, 'since the first')
  note(failure('not_found'))
  assert.deepEqual(await read(), { reachable: true, since: null }, 'a refusal is an answer')
  assert.equal(found.asked, 0)
})

it('is not affected by internal errors and unexpected answers', async () => {
  const { note, read } = bench()
  note(null)
  note(new TypeError('a bug'))
  note(failure('backend_error'))
  assert.deepEqual(await read(), { reachable: true, since: null })
  note(failure('backend_unavailable'))
  note(failure('backend_error'))
  assert.equal((await read()).reachable, false)
})

it('is asked from the health route once the last call is old', async () => {
  let up = false
  const { note, read, found, clock } = bench(() =>
    up ? Promise.resolve() : Promise.reject(failure('backend_error')),
  )
  note(null)
  clock.ms += 5000
  assert.deepEqual(await read(), { reachable: false, since: T0 + 5000 })
  up = true
  clock.ms += 4999
  assert.deepEqual(await read(), { reachable: false, since: T0 + 5000 })
  assert.equal(found.asked, 1, 'not more often than every five seconds')
  clock.ms += 1
  assert.deepEqual(await read(), { reachable: true, since: null })
  assert.equal(found.asked, 2)
})

it('is unknown if the health route never answers, and one request waits for it', async () => {
  const { note, read, found } = bench(() => new Promise(() => undefined))
  const unknown = { reachable: null, since: null }
  assert.deepEqual(await Promise.all([read(), read()]), [unknown, unknown])
  assert.deepEqual(await read(), unknown)
  assert.equal(found.asked, 1)
  note(failure('backend_unavailable'))
  assert.deepEqual(await read(), { reachable: false, since: T0 })
})
