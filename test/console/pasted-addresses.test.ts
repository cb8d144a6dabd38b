/** Addresses that a user pastes into the page of an organisation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressesIn } from '../../src/console/pages/organisation/pasted-addresses.ts'

const CASES: readonly [name: string, text: string, found: string[]][] = [
  ['nothing', '', []],
  ['text without addresses', 'Dear all, call me at 9.', []],
  ['a list by commas', 'a@x.org, b@x.org,c@x.org', ['a@x.org', 'b@x.org', 'c@x.org']],
  [
    'a list by semicolons and lines',
    'a@x.org; b@x.org\r\nc@x.org',
    ['a@x.org', 'b@x.org', 'c@x.org'],
  ],
  ['the names of a mail', '"Bob, B." <bob@x.org>, Eve <eve@x.org>', ['bob@x.org', 'eve@x.org']],
  ['columns of a table', 'Ada\tada@x.org\t+49 1\nBob\tbob@x.org\t', ['ada@x.org', 'bob@x.org']],
  ['the end of a sentence', 'Write to ada@x.org. Or (bob@x.org)!', ['ada@x.org', 'bob@x.org']],
  ['a link', 'see mailto:ada@x.org', ['ada@x.org']],
  ['a sign in quotation marks', '„ada@x.org“ and “bob@x.org”', ['ada@x.org', 'bob@x.org']],
  ['the plus of an address', 'ada+work@x.org', ['ada+work@x.org']],
  ['the same again', 'ada@x.org ADA@x.org', ['ada@x.org', 'repeated ADA@x.org']],
  [
    'no address',
    '@ada ada@ a@@x.org ada@-x.org',
    ['invalid @ada', 'invalid ada@', 'invalid a@@x.org', 'invalid ada@-x.org'],
  ],
  ['markup', '<img src=x@y.org onerror=alert(1)>', ['src=x@y.org']],
  ['a very long word', `${'a'.repeat(300)}@x.org`, [`invalid ${'a'.repeat(300)}@x.org`]],
]

for (const [name, text, found] of CASES)
  test(`addresses: ${name}`, () => {
    assert.deepEqual(
      addressesIn(text).map(({ address, state }) =>
        state === 'valid' ? address : `${state} ${address}`,
      ),
      found,
    )
  })

test('a long text takes time in proportion to its length', () => {
  const many = addressesIn('a@x.org '.repeat(50_000))
  assert.equal(many.filter(({ state }) => state === 'valid').length, 1)
  assert.equal(many.length, 50_000)
})
