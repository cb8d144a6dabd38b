/** Tests ports: taken at once, listened on later, and free again if the start fails. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { EXIT, StartError } from '../../src/errors.ts'
import { listenOn, takePort } from '../../src/http/address.ts'

const refuses = (exit: keyof typeof EXIT, words: RegExp) => (error: unknown) => {
  assert(error instanceof StartError)
  assert.equal(error.exit, EXIT[exit])
  assert.match(error.message, words)
  return true
}

for (const bind of ['127.0.0.1', '127.0.0.2', '::1'])
  test(`any free port of ${bind} is known before a server listens`, async (t) => {
    using taken = takePort({ bind, port: 0 })
    const { address, port } = taken.address()
    assert.equal(address, bind)
    const server = createServer()
    t.after(() => server.close())
    await listenOn(server, taken, { bind, port: 0 })
    assert.deepEqual(server.address(), { address, port, family: bind === '::1' ? 'IPv6' : 'IPv4' })
    const place = { bind, port }
    assert.throws(() => takePort(place), refuses('portTaken', /Port \d+ on .* is taken by another/))
  })

test('of two that take the same port, the first to listen gets it', async (t) => {
  const place = { bind: '127.0.0.1', port: 0 }
  using first = takePort(place)
  place.port = first.address().port
  using second = takePort(place)
  const [winner, loser] = [createServer(), createServer()]
  t.after(() => winner.close())
  await listenOn(winner, first, place)
  await assert.rejects(listenOn(loser, second, place), refuses('portTaken', /is taken by another/))
})

for (const [what, bind, words] of [
  [
    'an address of another machine',
    '192.0.2.1',
    /^Cannot listen on 192.0.2.1 port 0: address not available \(EADDRNOTAVAIL\)\.$/,
  ],
  [
    'an IPv6 address that stands for it',
    '::ffff:192.0.2.1',
    /: address not available \(EADDRNOTAVAIL\)\.$/,
  ],
  ['a name', 'localhost', /^Cannot listen on localhost port 0: .*must be a numeric IP address/],
] as const)
  test(`${what} is rejected with an explanation`, () => {
    assert.throws(() => takePort({ bind, port: 0 }), refuses('configuration', words))
  })
