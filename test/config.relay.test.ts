/**
 * Tests the settings in the URL of a mail relay, and the URLs that prevent the program from
 * starting.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../src/config/config.ts'
import { type Relay, relayOf } from '../src/config/relay.ts'
import { EXIT, StartError } from '../src/errors.ts'

const read: [string, Partial<Relay>][] = [
  // Over a network: TLS, unless the URL disables it.
  ['smtp://mail.example.org', { host: 'mail.example.org', port: 587, requireTLS: true }],
  ['smtp://mail.example.org:25/', { port: 25, secure: false, requireTLS: true, auth: null }],
  ['smtp://relay', { requireTLS: true }],
  ['smtp://10.0.0.1', { requireTLS: true }],
  ['smtp://[2001:db8::1]', { host: '2001:db8::1', requireTLS: true }],
  ['smtp://localhost.example.org', { requireTLS: true }],
  ['smtp://127.1', { requireTLS: true }],
  ['smtp://128.0.0.1', { requireTLS: true }],
  ['smtp://[::ffff:127.0.0.1]', { requireTLS: true }],
  ['smtp://u:p@mail.example.org?requireTLS=true', { requireTLS: true }],
  ['smtp://mail.example.org?requireTLS=false', { requireTLS: false }],
  // On this machine: no TLS, unless the URL requires it.
  ['smtp://localhost', { host: 'localhost', requireTLS: false }],
  ['SMTP://LocalHost', { host: 'localhost', requireTLS: false }],
  ['smtp://127.0.0.1:2525', { port: 2525, requireTLS: false }],
  ['smtp://127.1.2.3', { requireTLS: false }],
  ['smtp://[::1]:25', { host: '::1', port: 25, requireTLS: false }],
  ['smtp://u:p@localhost?requireTLS=false', { requireTLS: false, auth: { user: 'u', pass: 'p' } }],
  ['smtp://127.0.0.1?requireTLS=true', { requireTLS: true }],
  // TLS from the first byte.
  ['smtps://mail.example.org', { port: 465, secure: true, requireTLS: false }],
  ['smtps://127.0.0.1:1465', { port: 1465, secure: true, requireTLS: false }],
  [
    'smtps://ada%40example.org:p%40ss%2Fword@mail.example.org',
    { auth: { user: 'ada@example.org', pass: 'p@ss/word' } },
  ],
]

for (const [url, expected] of read)
  test(`reads ${url}`, () => {
    assert.partialDeepStrictEqual(relayOf(url), expected)
    const { place } = readConfig({ SVC_SMTP_URL: url, SVC_STATE_DIR: '/s' }).mail
    assert.deepEqual(place, { smtp: url })
  })

const FORM = /must be smtp:\/\/host.*port from 1 to 65535.*@ as %40/
const OPTIONS = /one option only, \?requireTLS=true or \?requireTLS=false/
const refused: [string, RegExp][] = [
  ['mail.example.org', FORM],
  ['https://u:canary@mail.example.org', FORM],
  ['smtp:mail.example.org', FORM],
  ['smtp://', FORM],
  ['smtp://u:canary@', FORM],
  ['smtp://:25', FORM],
  ['smtp://mail.example.org:0', FORM],
  ['smtp://mail.example.org:65536', FORM],
  ['smtp://u:canary@mail.example.org:mail', FORM],
  ['smtp://mail.example.org/canary', FORM],
  ['smtp://u:canary/x@mail.example.org', FORM],
  ['smtp://u:1#canary@mail.example.org', FORM],
  ['smtp://u:can%ary@mail.example.org', FORM],
  ['smtp://mail%00.example.org', FORM],
  ['smtp://canary@mail.example.org', /both a user and a password, or neither/],
  ['smtp://:canary@mail.example.org', /both a user and a password, or neither/],
  ['smtp://mail.example.org?pool=true', OPTIONS],
  ['smtp://mail.example.org?tls.rejectUnauthorized=false', OPTIONS],
  ['smtp://mail.example.org?requireTLS=no', OPTIONS],
  ['smtp://mail.example.org?requiretls=false', OPTIONS],
  ['smtp://mail.example.org?requireTLS=true&requireTLS=false', OPTIONS],
  ['smtp://u:1?canary@mail.example.org', OPTIONS],
  ['smtp://u:canary@mail.example.org?requireTLS=false', /sends the password over the network/],
  ['smtp://u:canary@10.0.0.1?requireTLS=false', /sends the password over the network/],
  ['smtps://u:canary@mail.example.org?requireTLS=false', /must not set requireTLS with smtps/],
  ['smtps://mail.example.org?requireTLS=true', /must not set requireTLS with smtps/],
]

for (const [url, why] of refused)
  test(`does not start with ${url}`, () => {
    const start = () => readConfig({ SVC_SMTP_URL: url, SVC_STATE_DIR: '/s' })
    assert.throws(start, (error: unknown) => {
      assert(error instanceof StartError)
      assert.equal(error.exit, EXIT.configuration)
      assert.match(error.message, /^SVC_SMTP_URL /)
      assert.match(error.message, why)
      assert.doesNotMatch(`${error.stack}`, /canary|can%ary/)
      return true
    })
  })
