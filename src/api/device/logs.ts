import * as v from 'valibot'
import { Jws, id } from '../fields.ts'
import type { Routes } from '../route.ts'
import { Connection, ConnectionName } from '../rest/connections.ts'

const Entries = v.object({ entries: v.array(Jws) })

export const keyLogs = {
  read: {
    method: 'GET',
    path: '/device/v1/key-logs/{account}',
    summary: 'Read the key log of an account',
    by: 'account',
    reply: Entries,
  },
  append: {
    method: 'POST',
    path: '/device/v1/key-logs',
    summary: 'Add an entry to the own key log; 409 when another came first',
    by: 'account',
    body: v.strictObject({ entry: Jws }),
    reply: Entries,
    status: 201,
  },
} as const satisfies Routes

export const rosters = {
  open: {
    method: 'POST',
    path: '/device/v1/rosters',
    summary: 'Open a connection: its first roster entry and an envelope for every own device',
    by: 'account',
    body: v.strictObject({
      connection: id('con_'),
      name: ConnectionName,
      entry: Jws,
      envelopes: v.pipe(v.array(Jws), v.minLength(1), v.maxLength(100)),
    }),
    reply: Connection,
    status: 201,
  },
  read: {
    method: 'GET',
    path: '/device/v1/rosters/{connection}',
    summary: 'Read the roster of a connection',
    by: 'account',
    reply: Entries,
  },
} as const satisfies Routes

export const envelopes = {
  read: {
    method: 'GET',
    path: '/device/v1/envelopes/{connection}',
    summary: 'Read the envelopes of a connection for this device',
    by: 'account',
    reply: v.object({ envelopes: v.array(Jws) }),
  },
} as const satisfies Routes
