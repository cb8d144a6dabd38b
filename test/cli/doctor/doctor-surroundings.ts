/**
 * Installations with real faults outside their folder: the environment, the clock, the account
 * and its server.
 */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Broken } from './doctor-broken.ts'
import { change } from '../installation.ts'

const DAY_MS = 86_400_000

/** The faults. */
export const SURROUNDINGS: readonly Broken[] = [
  {
    name: 'SVC_KEYCHAIN is not the recorded one; more is wrong with the environment',
    by: () => ({
      SVC_KEYCHAIN: 'os',
      SVC_HTTP_PORT: 'eighty',
      SVC_BACKND_URL: 'https://canary.example',
      SVC_CA_FILE: '/nowhere/ca.pem',
      SVC_TOKEN_FILE: '/nowhere/token',
      SVC_TOKEN_USERS: 'nobody-of-that-name',
      NODE_OPTIONS: '--no-deprecation',
    }),
    says: [
      ['fail', 'configuration', /SVC_HTTP_PORT is "eighty"/],
      ['fail', 'configuration', /"SVC_BACKND_URL" is not the name.*SVC_BACKEND_URL/],
      ['fail', 'configuration', /SVC_CA_FILE names \/nowhere\/ca\.pem/],
      ['fail', 'configuration', /SVC_TOKEN_FILE names \/nowhere\/token/],
      ['fail', 'configuration', /there is no such user/],
      ['warn', 'program', /NODE_OPTIONS/, /^unset NODE_OPTIONS$/],
      ['fail', 'keychain', /SVC_KEYCHAIN is "os", but the secrets of .* are in the file keychain/],
      ['ok', 'state.db', /^intact/],
    ],
  },
  {
    name: 'all users may create tokens, mail goes nowhere, the key of the assistant is open',
    skip: process.platform !== 'linux' && 'peers are told on Linux',
    by: (dir) => {
      const key = join(dirname(dir), 'key')
      writeFileSync(key, 'sk-canary', { mode: 0o644 })
      return {
        SVC_TOKEN_USERS: 'any',
        SVC_MAIL_DIR: '/dev/null/mail',
        SVC_ASSISTANT_URL: 'https://assistant.example/canary/v1',
        SVC_ASSISTANT_KEY_FILE: key,
      }
    },
    says: [
      ['warn', 'token route', /every user of this machine/, /SVC_TOKEN_USERS=/],
      ['fail', 'mail', /cannot write to \/dev\/null/, /SVC_MAIL_DIR/],
      ['fail', 'assistant', /accessible to other users/, /^The file must belong to this user/],
    ],
  },
  {
    name: 'the folder belongs to another account server, which does not answer',
    by: () => ({ SVC_BACKEND_URL: 'http://127.0.0.1:1' }),
    says: [
      ['fail', 'account', /holds the embedded account/, /^unset SVC_BACKEND_URL/],
      [
        'fail',
        'account server',
        /127\.0\.0\.1:1 cannot be reached/,
        /^Check the answer yourself: curl/,
      ],
      ['warn', 'clock', /^unknown: the account server/],
    ],
  },
  {
    name: 'the last sync failed',
    by: (dir) => {
      const report = { ok: false, error: 'The account server says: no.\u001b[2J' }
      change(
        dir,
        'state.db',
        'insert into meta values (?, ?) on conflict do update set value = excluded.value',
        'last_sync',
        JSON.stringify(report),
      )
    },
    says: [
      ['warn', 'sync', /the last sync failed: The account server says/, /^countersignd sync$/],
    ],
    code: 0,
  },
  {
    name: 'a device awaits approval and has not synced for long; the clock went back',
    by: (dir) => {
      const ahead = Math.floor(Date.now() / 60_000) + 300
      change(dir, 'state.db', `insert into replays_highest values (1, ${ahead})`)
      const upsert =
        'insert into meta values (?, ?) on conflict do update set value = excluded.value'
      change(
        dir,
        'state.db',
        `update meta set value = json_set(value, '$.approved', json('false'), '$.server', 'http://127.0.0.1:1') where key = 'identity'`,
      )
      change(
        dir,
        'state.db',
        upsert,
        'last_good_sync',
        JSON.stringify(new Date(Date.now() - 8 * DAY_MS).toISOString()),
      )
      return { SVC_BACKEND_URL: 'http://127.0.0.1:1' }
    },
    says: [
      ['warn', 'account', /awaits approval/, /countersignd login/],
      ['warn', 'sync', /8 days ago/, /^countersignd sync$/],
      ['fail', 'clock', /set back.* 5 hours later/, /timedatectl/],
    ],
  },
]
