/** To which addresses and URLs a webhook may send. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AddressKind, kindOfAddress } from '../../src/webhooks/address.ts'
import { NotSent, addressesOf, faultOfUrl } from '../../src/webhooks/target.ts'

describe('an address', () => {
  const cases: Readonly<Record<AddressKind, readonly string[]>> = {
    public: [
      '8.8.8.8',
      '100.63.255.255',
      '172.32.0.1',
      '192.0.1.1',
      '223.255.255.255',
      '2a00:1450:4001::1',
      '2606:4700::1111',
      '64:ff9b::8.8.8.8',
      '::ffff:8.8.8.8',
    ],
    private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', 'fd12::1'],
    loopback: ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
    refused: [
      '0.0.0.0',
      '0.1.2.3',
      '169.254.169.254',
      '169.254.0.1',
      '100.100.100.200',
      '168.63.129.16',
      '192.0.0.192',
      '192.0.2.1',
      '198.18.0.1',
      '203.0.113.9',
      '224.0.0.1',
      '240.0.0.1',
      '255.255.255.255',
      '::',
      '::ffff:169.254.169.254',
      '::ffff:a9fe:a9fe',
      '::169.254.169.254',
      '::ffff:0.0.0.0',
      '64:ff9b::169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      '64:ff9b::127.0.0.1',
      '64:ff9b::10.0.0.1',
      '64:ff9b:1::1',
      '2002:a9fe:a9fe::1',
      '2001:0:a9fe:a9fe::1',
      '2001:db8::1',
      'fe80::1',
      'fe80::1%eth0',
      'febf::1',
      'fec0::1',
      'fd00:ec2::254',
      'fd20:ce::254',
      'ff02::1',
      '100::1',
      'localhost',
      '127.1',
      '',
    ],
  }
  for (const [kind, addresses] of Object.entries(cases))
    for (const address of addresses)
      it(`${address || 'empty'} is ${kind}`, () => assert.equal(kindOfAddress(address), kind))
})

describe('a URL', () => {
  for (const url of [
    'https://example.org/hook',
    'https://example.org:8443/hook?key=a',
    'https://10.0.0.5/hook',
    'https://127.0.0.1/',
    'http://localhost:8080/',
    'http://127.8.8.8/',
    'http://[::1]:80/',
    // The parser of URLs reads these as 127.0.0.1.
    'http://0x7f.1/',
    'http://2130706433/',
  ])
    it(`${url} is accepted`, () => assert.equal(faultOfUrl(url), null))

  for (const [url, fault] of [
    ['example.org', /such as https:/],
    ['ftp://localhost/', /Use https/],
    ['http://example.org/', /Use https/],
    ['http://10.0.0.5/', /Use https/],
    ['http://localhost.example.org/', /Use https/],
    ['http://0.0.0.0/', /Use https/],
    ['https://0.0.0.0/', /Nothing is sent to 0\.0\.0\.0/],
    ['https://169.254.169.254/latest', /Nothing is sent to/],
    ['https://0251.0376.0251.0376/', /Nothing is sent to 169\.254/],
    ['https://0xa9fea9fe/', /Nothing is sent to 169\.254/],
    ['https://[::ffff:169.254.169.254]/', /Nothing is sent to/],
    ['https://[64:ff9b::a9fe:a9fe]/', /Nothing is sent to/],
    ['https://[fe80::1]/', /Nothing is sent to/],
    ['https://user@example.org/', /user name or a password/],
    ['https://:secret@example.org/', /user name or a password/],
    ['https://example.org/#key', /fragment/],
  ] as const)
    it(`${url} is refused`, () => assert.match(faultOfUrl(url) ?? '', fault))
})

describe('the addresses of a URL', () => {
  const cases: [
    what: string,
    target: { url: string; private_network?: boolean },
    found: readonly string[],
    isAllowed: boolean,
  ][] = [
    ['a name with a public address', { url: 'https://a.example/' }, ['8.8.8.8'], true],
    ['a name with a private address', { url: 'https://a.example/' }, ['10.0.0.1'], false],
    ['one of several', { url: 'https://a.example/' }, ['8.8.8.8', '10.0.0.1'], false],
    [
      'a name in a private network, as declared',
      { url: 'https://a.example/', private_network: true },
      ['10.0.0.1'],
      true,
    ],
    [
      'a loopback address, although private networks are declared',
      { url: 'https://a.example/', private_network: true },
      ['127.0.0.1'],
      false,
    ],
    [
      'a metadata service, although private networks are declared',
      { url: 'https://a.example/', private_network: true },
      ['169.254.169.254'],
      false,
    ],
    ['localhost', { url: 'http://localhost:1/' }, ['::1', '127.0.0.1'], true],
    ['localhost elsewhere', { url: 'http://localhost:1/' }, ['10.0.0.1'], false],
    ['a port of this daemon', { url: 'http://127.0.0.1:19821/' }, [], false],
    ['a port of this daemon, by name', { url: 'https://localhost:19821/' }, ['::1'], false],
    ['another port', { url: 'http://127.0.0.1:19823/' }, [], true],
  ]
  for (const [what, { url, private_network = false }, found, isAllowed] of cases)
    it(`${what}: ${isAllowed ? 'allowed' : 'refused'}`, async () => {
      const resolving = addressesOf({ url, private_network }, async () => found, [19821])
      if (isAllowed) assert((await resolving).length > 0)
      else
        await assert.rejects(
          resolving,
          (error) => error instanceof NotSent && error.reason === 'address_not_allowed',
        )
    })

  it('a name without an address', () =>
    assert.rejects(
      addressesOf({ url: 'https://a.example/', private_network: false }, async () => [], []),
      (error) => error instanceof NotSent && error.reason === 'name_not_resolved',
    ))
})
