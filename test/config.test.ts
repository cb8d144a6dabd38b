import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../src/config/config.ts'
import type { Config } from '../src/config/config.ts'
import { SETTINGS } from '../src/config/settings.ts'
import { EXIT, StartError } from '../src/errors.ts'
import { freshFolder } from './keychain/fresh-folder.ts'

type Env = Record<string, string>

const LINUX = { platform: 'linux', homedir: () => '/home/ada' } as const
const MAC = { platform: 'darwin', homedir: () => '/Users/ada' } as const
const WINDOWS = { platform: 'win32', homedir: () => 'C:\\Users\\ada' } as const

const refusal = (env: Env): StartError => {
  try {
    readConfig(env, LINUX)
  } catch (error) {
    assert(error instanceof StartError)
    return error
  }
  assert.fail(`accepted ${JSON.stringify(env)}`)
}

test('without variables the defaults apply', () => {
  assert.deepEqual(readConfig({}, LINUX), {
    bind: '127.0.0.1',
    port: 19821,
    socket: null,
    inherited: [],
    stateDir: '/home/ada/.local/state/countersign',
    runtimeDir: null,
    system: {
      runtime: '/run/countersign',
      state: '/var/lib/countersign',
      units: [
        '/etc/systemd/system/countersignd.service',
        '/usr/lib/systemd/system/countersignd.service',
      ],
    },
    environment: 'embedded',
    backendUrl: null,
    isBackendSet: false,
    caFile: null,
    accountBind: '127.0.0.1',
    accountPort: 19822,
    publicUrl: null,
    databaseUrl: null,
    database: { prepare: 'auto', poolSize: 10, lockTimeoutMs: 0, statementTimeoutMs: 0 },
    drainMs: 0,
    mail: {
      from: 'countersign@localhost',
      place: { dir: '/home/ada/.local/state/countersign/mail' },
    },
    mailedCodes: { ofServer: 1000, ofDomain: null },
    retention: {
      verifications: null,
      activities: null,
      invitations: 365,
      guestCodes: 365,
      trustEvents: null,
      sessions: 90,
    },
    assistant: null,
    metrics: { token: null, port: null },
    keychain: 'auto',
    credentialsDir: null,
    desktopNotify: false,
    tokenUsers: { names: [] },
    console: true,
    logLevel: 'info',
    token: null,
    tokenFile: null,
  } satisfies Config)
})

for (const { name, byDefault } of SETTINGS) {
  const [, value] = /^`([^`]+)`$/.exec(byDefault ?? '') ?? []
  if (value === undefined) continue
  test(`the listed default ${name}=${value} changes nothing`, () => {
    // SVC_ENV also chooses a server for the state folder.
    const config = { ...readConfig({ [name]: value }, LINUX), isBackendSet: false }
    assert.deepEqual(config, readConfig({}, LINUX))
  })
}

test('the configuration is deeply frozen', () => {
  const config = readConfig({ SVC_TOKEN_USERS: 'ada' }, LINUX)
  assert(Object.isFrozen(config))
  assert('names' in config.tokenUsers)
  assert(Object.isFrozen(config.tokenUsers) && Object.isFrozen(config.tokenUsers.names))
  assert(Object.isFrozen(config.retention))
  assert(Object.isFrozen(config.mail) && Object.isFrozen(config.mail.place))
  assert(
    Object.isFrozen(readConfig({ SVC_ASSISTANT_URL: 'https://a.example/v1' }, LINUX).assistant),
  )
})

const accepted: [Env, Partial<Config>][] = [
  [{ SVC_HTTP_BIND: '::1' }, { bind: '::1' }],
  [{ SVC_HTTP_BIND: '127.1.2.3' }, { bind: '127.1.2.3' }],
  [{ SVC_HTTP_BIND: '' }, { bind: '127.0.0.1' }],
  [{ SVC_HTTP_PORT: '0' }, { port: 0 }],
  [{ SVC_HTTP_PORT: '65535' }, { port: 65535 }],
  [{ SVC_HTTP_PORT: '' }, { port: 19821 }],
  [{ SVC_HTTP_PORT: 'off' }, { port: null }],
  [{ SVC_HTTP_SOCKET: '/run/a//b.sock' }, { socket: { path: '/run/a/b.sock', group: null } }],
  [
    { SVC_HTTP_SOCKET: '/run/a.sock', SVC_HTTP_SOCKET_GROUP: 'staff' },
    { socket: { path: '/run/a.sock', group: 'staff' } },
  ],
  [
    { SVC_MAILED_CODES: '5000', SVC_MAILED_CODES_PER_DOMAIN: '1' },
    { mailedCodes: { ofServer: 5000, ofDomain: 1 } },
  ],
  [
    { SVC_ACCOUNT_BIND: '::1', SVC_ACCOUNT_PORT: '1' },
    { accountBind: '::1', accountPort: 1 },
  ],
  [{ SVC_ENV: 'embedded' }, { environment: 'embedded', backendUrl: null }],
  [
    { SVC_ENV: 'staging', SVC_ENV_STAGING_URL: 'https://s.example/', SVC_ENV_LIVE_URL: '' },
    { environment: 'staging', backendUrl: 'https://s.example' },
  ],
  [
    { SVC_ENV: 'on_2', SVC_ENV_ON_2_URL: 'http://[::1]:1' },
    { environment: 'on_2', backendUrl: 'http://[::1]:1' },
  ],
  [
    {
      SVC_ENV: 'staging',
      SVC_ENV_STAGING_URL: 'https://s.example',
      SVC_BACKEND_URL: 'http://127.0.0.1:1',
    },
    { environment: 'staging', backendUrl: 'http://127.0.0.1:1' },
  ],
  [
    { SVC_ENV: 'live', SVC_BACKEND_URL: 'https://b.example' },
    { environment: 'live', backendUrl: 'https://b.example' },
  ],
  [
    { SVC_BACKEND_URL: 'https://B.example:8443/' },
    { environment: 'embedded', backendUrl: 'https://b.example:8443' },
  ],
  [{ SVC_CA_FILE: '/etc/ca.pem' }, { caFile: '/etc/ca.pem' }],
  ...['0.0.0.0', '::', '192.168.1.2', 'fe80::1', '127.0.0.1'].map(
    (value): [Env, Partial<Config>] => [
      { SVC_ACCOUNT_BIND: value, SVC_PUBLIC_URL: 'https://sign.example' },
      { accountBind: value },
    ],
  ),
  [
    { SVC_MAIL_DIR: '/var/mail/c/', SVC_PUBLIC_URL: 'https://sign.example:8443' },
    { mail: { from: 'countersign@sign.example', place: { dir: '/var/mail/c' } } },
  ],
  [
    { SVC_STATE_DIR: '/s', SVC_PUBLIC_URL: 'https://192.0.2.1' },
    { mail: { from: 'countersign@localhost', place: { dir: '/s/mail' } } },
  ],
  [
    { SVC_PUBLIC_URL: 'https://[2001:db8::1]', SVC_MAIL_DIR: '/m' },
    { mail: { from: 'countersign@localhost', place: { dir: '/m' } } },
  ],
  [
    { SVC_SMTP_URL: 'smtps://u:p@relay.example', SVC_MAIL_FROM: 'Accounts+x@example.org' },
    { mail: { from: 'Accounts+x@example.org', place: { smtp: 'smtps://u:p@relay.example' } } },
  ],
  [
    { SVC_SMTP_URL: 'smtp://localhost:25', SVC_MAIL_DIR: '' },
    { mail: { from: 'countersign@localhost', place: { smtp: 'smtp://localhost:25' } } },
  ],
  [
    { SVC_ASSISTANT_URL: 'https://a.example/v1' },
    { assistant: { url: 'https://a.example/v1', keyFile: null, model: null } },
  ],
  [
    {
      SVC_ASSISTANT_URL: 'https://A.example:8443/openai/v1//',
      SVC_ASSISTANT_KEY_FILE: '/k/../key',
      SVC_ASSISTANT_MODEL: 'vendor/model:7b',
    },
    {
      assistant: {
        url: 'https://a.example:8443/openai/v1',
        keyFile: '/key',
        model: 'vendor/model:7b',
      },
    },
  ],
  [
    { SVC_ASSISTANT_URL: 'http://[::1]:11434/v1', SVC_ASSISTANT_MODEL: '' },
    { assistant: { url: 'http://[::1]:11434/v1', keyFile: null, model: null } },
  ],
  [
    { SVC_ASSISTANT_URL: 'https://a.example' },
    { assistant: { url: 'https://a.example', keyFile: null, model: null } },
  ],
  [{ SVC_ASSISTANT_URL: '', SVC_ASSISTANT_KEY_FILE: '' }, { assistant: null }],
  [{ SVC_PUBLIC_URL: 'https://sign.example' }, { publicUrl: 'https://sign.example' }],
  [{ SVC_PUBLIC_URL: 'https://Sign.example:8443/' }, { publicUrl: 'https://sign.example:8443' }],
  [{ SVC_PUBLIC_URL: 'http://localhost:19822' }, { publicUrl: 'http://localhost:19822' }],
  [{ SVC_PUBLIC_URL: 'http://127.0.0.1:19822/' }, { publicUrl: 'http://127.0.0.1:19822' }],
  [{ SVC_PUBLIC_URL: 'http://[::1]:19822' }, { publicUrl: 'http://[::1]:19822' }],
  [{ SVC_DATABASE_URL: 'postgres://u:p@db/x' }, { databaseUrl: 'postgres://u:p@db/x' }],
  [{ SVC_DATABASE_URL: 'postgresql://a,b/x' }, { databaseUrl: 'postgresql://a,b/x' }],
  [
    {
      SVC_DATABASE_PREPARE: 'off',
      SVC_DATABASE_POOL_SIZE: '1000',
      SVC_DATABASE_LOCK_TIMEOUT_MS: '0',
      SVC_DATABASE_STATEMENT_TIMEOUT_MS: '30000',
    },
    {
      database: { prepare: 'off', poolSize: 1000, lockTimeoutMs: 0, statementTimeoutMs: 30_000 },
    },
  ],
  [{ SVC_DRAIN_MS: '30000' }, { drainMs: 30_000 }],
  [
    {
      SVC_RETENTION_VERIFICATIONS_DAYS: '31',
      SVC_RETENTION_ACTIVITIES_DAYS: '62',
      SVC_RETENTION_INVITATIONS_DAYS: '1',
      SVC_RETENTION_GUEST_CODES_DAYS: 'forever',
      SVC_RETENTION_TRUST_EVENTS_DAYS: '36500',
      SVC_RETENTION_SESSIONS_DAYS: '',
    },
    {
      retention: {
        verifications: 31,
        activities: 62,
        invitations: 1,
        guestCodes: null,
        trustEvents: 36_500,
        sessions: 90,
      },
    },
  ],
  [{ SVC_KEYCHAIN: 'os' }, { keychain: 'os' }],
  [{ SVC_KEYCHAIN: 'file' }, { keychain: 'file' }],
  [{ CREDENTIALS_DIRECTORY: '/run/credentials/c' }, { credentialsDir: '/run/credentials/c' }],
  [{ RUNTIME_DIRECTORY: '/run/countersign:/run/d' }, { runtimeDir: '/run/countersign' }],
  [{ STATE_DIRECTORY: '/var/lib/c' }, { system: null }],
  [{ SVC_STATE_DIR: '/s' }, { system: null }],
  [{ SVC_TOKEN_USERS: 'ada, 1001' }, { tokenUsers: { names: ['ada', '1001'] } }],
  [{ SVC_TOKEN_USERS: 'any' }, { tokenUsers: { any: true } }],
  [{ SVC_LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
  [
    { SVC_TOKEN: 'csd_x', SVC_TOKEN_FILE: '/t' },
    { token: 'csd_x', tokenFile: '/t' },
  ],
]

for (const [env, expected] of accepted) {
  test(`accepts ${JSON.stringify(env)}`, () => {
    assert.partialDeepStrictEqual(readConfig(env, LINUX), expected)
  })
}

const folders: [typeof LINUX | typeof MAC | typeof WINDOWS, Env, string][] = [
  [LINUX, { XDG_STATE_HOME: '/x' }, '/x/countersign'],
  [LINUX, { XDG_STATE_HOME: 'relative' }, '/home/ada/.local/state/countersign'],
  [LINUX, { STATE_DIRECTORY: '/var/lib/c:/var/lib/d' }, '/var/lib/c'],
  [LINUX, { STATE_DIRECTORY: '/var/lib/c', SVC_STATE_DIR: '/s/../t/' }, '/t'],
  [LINUX, { STATE_DIRECTORY: '/var/lib/c', SVC_STATE_DIR: '' }, '/var/lib/c'],
  [MAC, { XDG_STATE_HOME: '/x' }, '/Users/ada/Library/Application Support/countersign'],
  [WINDOWS, { LOCALAPPDATA: 'D:\\local' }, 'D:\\local\\countersign'],
  [WINDOWS, {}, 'C:\\Users\\ada\\AppData\\Local\\countersign'],
  [WINDOWS, { SVC_STATE_DIR: 'D:/state' }, 'D:\\state'],
]

for (const [os, env, expected] of folders) {
  test(`the state folder on ${os.platform} with ${JSON.stringify(env)}`, () => {
    assert.equal(readConfig(env, os).stateDir, expected)
  })
}

for (const [how, homedir] of [
  [
    'throws',
    () => {
      throw new Error('ENOENT: uv_os_homedir')
    },
  ],
  ['is empty', () => ''],
] as const) {
  test(`a home folder that ${how} is read only if it would contain the state`, () => {
    const os = { platform: 'linux', homedir } as const
    for (const name of ['SVC_STATE_DIR', 'STATE_DIRECTORY'])
      assert.equal(readConfig({ [name]: '/s' }, os).stateDir, '/s')
    assert.equal(readConfig({ XDG_STATE_HOME: '/x' }, os).stateDir, '/x/countersign')
    for (const platform of ['linux', 'darwin', 'win32'] as const)
      assert.throws(() => readConfig({}, { platform, homedir }), {
        exit: EXIT.configuration,
        message: /no home folder.*Set SVC_STATE_DIR/,
      })
  })
}

test('desktop notifications are switched on only on Linux', () => {
  const env = { SVC_DESKTOP_NOTIFY: 'on' }
  assert.equal(readConfig(env, LINUX).desktopNotify, true)
  for (const os of [MAC, WINDOWS])
    assert.throws(() => readConfig(env, os), {
      exit: EXIT.configuration,
      message: `SVC_DESKTOP_NOTIFY is "on": it has no effect on ${os.platform}, because the daemon shows notifications only on a Linux desktop. Unset it.`,
    })
  assert.equal(readConfig({ SVC_DESKTOP_NOTIFY: 'off' }, MAC).desktopNotify, false)
})

const notRead: [Env, RegExp][] = [
  ...['SVC_ASSISTANT_KEY_FILE', 'SVC_ASSISTANT_MODEL'].map((name): [Env, RegExp] => [
    { [name]: '/canary' },
    new RegExp(`^${name} has no effect without SVC_ASSISTANT_URL`),
  ]),
  ...Object.entries({
    SVC_HTTP_PROT: 'SVC_HTTP_PORT',
    SVC_PORT: 'SVC_HTTP_PORT',
    SVC_STATEDIR: 'SVC_STATE_DIR',
    SVC_EVN: 'SVC_ENV',
    SVC_TOKENFILE: 'SVC_TOKEN_FILE',
    SVC_KEYCHIAN: 'SVC_KEYCHAIN',
    SVC_BACKEND: 'SVC_BACKEND_URL',
    SVC_MAILDIR: 'SVC_MAIL_DIR',
    SVC_ASSISTANT_KEY: 'SVC_ASSISTANT_KEY_FILE',
  }).map(([name, meant]): [Env, RegExp] => [
    { [name]: 'canary' },
    new RegExp(`^"${name}" is not the name of a setting. Did you mean ${meant}\\?$`),
  ]),
  ...['SVC_FOO', 'SVC_ENV_staging_URL_X', 'SVC_SYNC_MINUTES', 'SVC_\nX', 'SVC_SERVICE_HOST'].map(
    (name): [Env, RegExp] => [
      { [name]: 'canary' },
      /^"SVC_.*" is not the name of a setting\. Unset it\.$/,
    ],
  ),
]

for (const [env, why] of notRead) {
  test(`rejects the unknown ${JSON.stringify(env)}`, () => {
    const error = refusal(env)
    assert.equal(error.exit, EXIT.configuration)
    assert.match(error.message, why)
    assert.doesNotMatch(error.message, /canary/)
    const [name = ''] = Object.keys(env)
    assert.doesNotThrow(() => readConfig({ [name]: '' }, LINUX))
  })
}

test('only the listener of the pages can be public', () => {
  const { message: api } = refusal({ SVC_HTTP_BIND: '0.0.0.0' })
  assert.match(api, /without a password.*not even through a proxy/)
  assert.doesNotMatch(api, /publish/)
  const { message: pages } = refusal({ SVC_ACCOUNT_BIND: '0.0.0.0' })
  assert.match(pages, /listens on this address.*guests and devices/)
  assert.match(pages, /loopback.*reverse proxy with TLS.*SVC_PUBLIC_URL to the https address/)
  assert.doesNotMatch(pages, /token/)
})

const refused: [Env, RegExp][] = [
  ...[
    '0.0.0.0',
    '::',
    '192.168.1.2',
    'localhost',
    '[::1]',
    '127.1',
    '127.0.0.1:80',
    '::ffff:127.0.0.1',
  ].map((value): [Env, RegExp] => [{ SVC_HTTP_BIND: value }, /loopback.*without a password/]),
  [{ SVC_ACCOUNT_BIND: '0.0.0.0' }, /loopback/],
  ...['65536', '-1', '80 ', '0x50', '1e3', '080', 'http'].map((value): [Env, RegExp] => [
    { SVC_HTTP_PORT: value },
    /0 to 65535/,
  ]),
  [{ SVC_ACCOUNT_PORT: '70000' }, /0 to 65535/],
  [{ SVC_ACCOUNT_PORT: 'off' }, /0 to 65535\. 0 means/],
  [{ SVC_HTTP_SOCKET: 'api.sock' }, /absolute/],
  [{ SVC_HTTP_SOCKET: `/${'a'.repeat(103)}` }, /at most 103 bytes/],
  [{ SVC_HTTP_SOCKET: '/run/a\nb' }, /no control characters/],
  [{ SVC_HTTP_SOCKET_GROUP: 'staff' }, /there is no SVC_HTTP_SOCKET/],
  [{ SVC_HTTP_SOCKET_GROUP: 'a b', SVC_HTTP_SOCKET: '/a' }, /one group/],
  ...['0', '-1', '1.5', '100001', '1e3', 'all'].flatMap((value): [Env, RegExp][] => [
    [{ SVC_MAILED_CODES: value }, /SVC_MAILED_CODES is ".*": .*from 1 to 100000/],
    [{ SVC_MAILED_CODES_PER_DOMAIN: value }, /_PER_DOMAIN is ".*": .*from 1 to 100000/],
  ]),
  [{ SVC_STATE_DIR: 'state' }, /absolute/],
  [{ STATE_DIRECTORY: 'state' }, /absolute/],
  [{ RUNTIME_DIRECTORY: 'run' }, /absolute/],
  [{ SVC_ENV: 'production' }, /set SVC_ENV_PRODUCTION_URL.*leave it unset/],
  [{ SVC_ENV: 'a-b' }, /letters, digits and _/],
  [{ SVC_BACKEND_URL: 'http://b.example' }, /https. http is allowed for a loopback host only/],
  [{ SVC_BACKEND_URL: 'https://b.example/api' }, /origin alone/],
  [{ SVC_BACKEND_URL: 'b.example' }, /must be a URL/],
  // Checked although no setting selects it.
  [{ SVC_ENV_STAGING_URL: 'http://s.example' }, /https/],
  [{ SVC_CA_FILE: 'ca.pem' }, /absolute/],
  [{ SVC_MAIL_DIR: 'mail' }, /absolute/],
  ...['ada', 'Ada <ada@example.org>', 'a@b, c@d', 'a b@c', '@c', 'a@'].map(
    (value): [Env, RegExp] => [{ SVC_MAIL_FROM: value }, /one address/],
  ),
  // An http address of a loopback host is not published.
  ...['sign.example', 'localhost', '[::]', '10.0.0.1:80', '10.1'].map((value): [Env, RegExp] => [
    { SVC_ACCOUNT_BIND: value, SVC_PUBLIC_URL: 'https://sign.example' },
    /literal IP address. Host names are not allowed/,
  ]),
  [{ SVC_ACCOUNT_BIND: '10.0.0.1', SVC_PUBLIC_URL: 'http://localhost:19822' }, /proxy with TLS/],
  [{ SVC_PUBLIC_URL: 'sign.example' }, /must be a URL/],
  [{ SVC_PUBLIC_URL: 'http://sign.example' }, /https/],
  [{ SVC_PUBLIC_URL: 'http://localhost.evil.example' }, /https/],
  [{ SVC_PUBLIC_URL: 'ftp://localhost' }, /https/],
  [{ SVC_PUBLIC_URL: 'https://sign.example/path' }, /origin alone/],
  [{ SVC_PUBLIC_URL: 'https://sign.example/?' }, /origin alone/],
  [{ SVC_PUBLIC_URL: 'https://sign.example/#x' }, /origin alone/],
  [{ SVC_KEYCHAIN: 'OS' }, /auto, os, file/],
  [{ SVC_DATABASE_PREPARE: 'never' }, /auto, on, off/],
  ...['0', '1001', '-1', '1.5', '1e2', '010', 'ten'].map((value): [Env, RegExp] => [
    { SVC_DATABASE_POOL_SIZE: value },
    /whole number from 1 to 1000/,
  ]),
  ...['5s', '3600001'].flatMap((value): [Env, RegExp][] => [
    [{ SVC_DATABASE_LOCK_TIMEOUT_MS: value }, /from 0 to 3600000/],
    [{ SVC_DATABASE_STATEMENT_TIMEOUT_MS: value }, /from 0 to 3600000/],
    [{ SVC_DRAIN_MS: value }, /from 0 to 600000/],
  ]),
  ...['-1', '1.5', '1e2', '010', '36501', '30d', 'never', 'Forever'].map((value): [Env, RegExp] => [
    { SVC_RETENTION_SESSIONS_DAYS: value },
    /a number of days from 1 to 36500, or the word forever\.$/,
  ]),
  [
    { SVC_RETENTION_SESSIONS_DAYS: '0' },
    /or the word forever\. .*Write 1 to keep as little as possible, or forever to delete nothing\.$/,
  ],
  ...['0', '00', '30'].map((value): [Env, RegExp] => [
    { SVC_RETENTION_VERIFICATIONS_DAYS: value },
    /from 31 to 36500, .* count the verifications of 30 days\. Write 31 .*, or forever/,
  ]),
  [{ SVC_RETENTION_ACTIVITIES_DAYS: '61' }, /from 62 .* 61 days\. Write 62 /],
  [{ SVC_LOG_LEVEL: 'trace' }, /error, warn, info, debug/],
  ...['two words', 'a'.repeat(201), 'm\u00f6del', 'a\nb'].map((value): [Env, RegExp] => [
    { SVC_ASSISTANT_MODEL: value, SVC_ASSISTANT_URL: 'https://a.example/v1' },
    /name of a model/,
  ]),
  [{ SVC_TOKEN_USERS: 'ada,,bob' }, /comma-separated/],
  [{ SVC_TOKEN_USERS: 'any,ada' }, /comma-separated/],
]

for (const [env, why] of refused) {
  test(`rejects ${JSON.stringify(env)}`, () => {
    const error = refusal(env)
    const [[name, value] = assert.fail()] = Object.entries(env)
    assert.equal(error.exit, EXIT.configuration)
    assert.match(error.message, why)
    assert(error.message.startsWith(`${name} is ${JSON.stringify(value)}: `), error.message)
  })
}

test('the environment name "embedded" cannot have an address', () => {
  const { message, exit } = refusal({ SVC_ENV_EMBEDDED_URL: 'https://b.example' })
  assert.equal(exit, EXIT.configuration)
  assert.match(message, /^SVC_ENV_EMBEDDED_URL has no effect/)
})

test('the URL of the database can be in a file', (t) => {
  const file = join(freshFolder(t), 'url')
  const env = { SVC_DATABASE_URL_FILE: file }
  writeFileSync(file, 'postgres://u:canary@db/x\n')
  assert.equal(readConfig(env, LINUX).databaseUrl, 'postgres://u:canary@db/x')
  for (const text of ['', 'mysql://u:canary@db/x', 'postgres://u:canary@db/x\ncanary']) {
    writeFileSync(file, text)
    const { message, exit } = refusal(env)
    assert.equal(exit, EXIT.configuration)
    assert.match(
      message,
      /^The content of the file that SVC_DATABASE_URL_FILE names must be a post/,
    )
    assert.doesNotMatch(message, /canary/)
  }
})

test('only one way of sending mail can be set', () => {
  const { message } = refusal({ SVC_MAIL_DIR: '/m', SVC_SMTP_URL: 'smtp://canary@h' })
  assert.match(message, /^SVC_MAIL_DIR and SVC_SMTP_URL are both set/)
  assert.doesNotMatch(message, /canary/)
})

const secret: Env[] = [
  { SVC_SMTP_URL: 'https://u:canary@relay.example' },
  { SVC_SMTP_URL: 'smtp://u:canary@' },
  { SVC_SMTP_URL: 'canary' },
  { SVC_SMTP_URL: 'smtp://u:1#canary@relay.example' },
  { SVC_SMTP_URL: 'smtp://u:1?canary@relay.example' },
  { SVC_SMTP_URL: 'smtp://u:canary%zz@relay.example' },
  { SVC_SMTP_URL: 'smtp://u:canary@relay.example:70000' },
  { SVC_SMTP_URL: 'smtp://u:canary@relay.example?requireTLS=false' },
  { SVC_BACKEND_URL: 'https://u:canary@b.example' },
  { SVC_ENV_LIVE_URL: 'https://u:canary@b.example' },
  { SVC_DATABASE_URL: 'mysql://u:canary@db/x' },
  { SVC_DATABASE_URL: 'canary' },
  { SVC_DATABASE_URL: 'postgres://u:canary@db/x', SVC_DATABASE_URL_FILE: '/canary' },
  { SVC_DATABASE_URL_FILE: 'postgres://u:canary@db/x' },
  { SVC_DATABASE_URL_FILE: '/does-not-exist/canary' },
  { SVC_PUBLIC_URL: 'https://u:canary@sign.example' },
  { SVC_PUBLIC_URL: 'https://u:canary@:x' },
  { SVC_TOKEN: 'canary', SVC_TOKEN_FILE: 'canary', SVC_HTTP_PORT: 'x' },
  ...[
    'http://a.example/canary',
    'http://10.0.0.1:11434/canary',
    'http://localhost.canary/v1',
    'https://u:canary@a.example/v1',
    'https://a.example/v1?key=canary',
    'https://a.example/v1?#canary',
    'https://a.example/v1#canary',
    'ftp://localhost/canary',
    'canary',
  ].map((value) => ({ SVC_ASSISTANT_URL: value })),
  { SVC_ASSISTANT_URL: 'https://a.example/v1', SVC_ASSISTANT_KEY_FILE: 'canary' },
]

for (const env of secret) {
  test(`rejects ${Object.keys(env).join()} without showing the secret in it`, () => {
    assert.doesNotMatch(refusal(env).message, /canary/)
  })
}

test('a Unix socket is rejected on Windows, where it has no mode', () => {
  assert.throws(() => readConfig({ SVC_HTTP_SOCKET: 'C:\\a.sock' }, WINDOWS), {
    exit: EXIT.configuration,
    message: /no owner and no mode on Windows/,
  })
})
