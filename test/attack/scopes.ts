/**
 * Every kind of caller at every route, and requests for tokens wider than those of the caller.
 */
import type { AccessLevel } from '../../src/auth/scopes.ts'
import { type Attack, CLOSE, JSON_TYPE, askedBy, isRoute } from './attack.ts'
import type { Target } from './routes.ts'
import type { Caller, Scene } from './scene.ts'

/** The needs that each access level satisfies, from the interface’s description. */
const MAY: Readonly<Record<AccessLevel, readonly Target['need'][]>> = {
  read: ['none', 'read'],
  write: ['none', 'read', 'write'],
  full: ['none', 'read', 'write', 'full'],
  device: ['none', 'read', 'device'],
  session: ['none', 'read', 'write', 'full', 'device', 'session'],
  owner: ['none', 'read', 'write', 'full', 'owner'],
}

const may = ({ standing }: Caller, { need }: Target) =>
  need === 'none' || (standing !== null && MAY[standing].includes(need))

/** Rows about the tokens of a machine account: a device has none, at any access level. */
const OF_MACHINES = /^(bearer|machineTokens)\./

/**
 * Returns the expected answer. An authorized request has a body of another type, so that it does
 * nothing.
 */
function wanted(caller: Caller, target: Target): RegExp {
  const isDevice = caller.standing === 'session' || caller.standing === 'device'
  if (may(caller, target) && isDevice && target.method === 'GET' && OF_MACHINES.test(target.name))
    return /^403 forbidden$/
  if (may(caller, target))
    return target.method === 'GET'
      ? /^(200|40[49]( \w+)?|422 validation_failed|410)$/
      : /^415 unsupported_media_type$/
  if (caller.standing === null) return new RegExp(`^401 ${caller.refusal}$`)
  const isScope = target.need === 'read' || target.need === 'write' || target.need === 'full'
  return isScope && caller.standing !== 'device' ? /^403 insufficient_scope$/ : /^403 forbidden$/
}

/** Returns whether a GET would be answered with a stream that does not end. */
const isEndless = ({ route, query }: Target) => route?.lasting === true && query === ''

async function shot(caller: Caller, target: Target, scene: Scene) {
  const want = wanted(caller, target)
  if (target.method === 'GET') {
    // HEAD is authorized like GET.
    const method = may(caller, target) && isEndless(target) ? 'HEAD' : 'GET'
    return { bytes: await askedBy(caller, target, scene, { method }), want }
  }
  const sent = { lines: ['Content-Type: text/plain', CLOSE], body: '{}' }
  return { bytes: await askedBy(caller, target, scene, sent), want, alone: true as const }
}

/** Creates one attack for each kind of caller. */
const matrix = (names: readonly string[]) =>
  names.map((name): Attack => ({
    row: 'Scope escalation',
    name: `called by: ${name}`,
    on: isRoute,
    shots: async (target, scene) => {
      const caller = scene.callers[target.listener].find((one) => one.name === name)
      return caller === undefined ? [] : [await shot(caller, target, scene)]
    },
  }))

/** The callers of both listeners. */
const NAMES = [
  'nobody',
  'an unknown token',
  'a malformed token',
  'a revoked token',
  'an expired token',
  'a token of another scheme',
  'a token as a bound one',
  'a token by password',
  'a token of the daemon',
  'the command line of the daemon',
  'an unknown machine’s token',
  'a revoked machine’s token',
  'a machine’s token as a bound one',
  'the session of a device',
  'a session without its key',
  'a session without a proof',
  'a session with another key',
  'read',
  'write',
  'full',
  'machine read',
  'machine write',
  'machine full',
  'waiting device',
  'device',
]

/** Returns whether a route creates tokens, by the members of its body. */
const mints = ({ route }: Target) =>
  route !== null &&
  route.method === 'POST' &&
  route.form !== true &&
  'scope' in ((route.body as { entries?: object } | undefined)?.entries ?? {})

const SCOPES = [
  'owner',
  'session',
  'device',
  'none',
  'root',
  'FULL',
  'full ',
  'read full',
  '',
  null,
  ['full'],
  { full: true },
]

const wider: Attack = {
  row: 'Scope escalation',
  name: 'a token of an unknown scope',
  on: mints,
  shots: (target, scene) =>
    Promise.all(
      SCOPES.map(async (scope) => ({
        bytes: await askedBy(scene.opens(target), target, scene, {
          lines: [JSON_TYPE, CLOSE],
          body: JSON.stringify({ name: 'stolen', scope }),
        }),
        want: /^422 validation_failed$/,
        alone: true as const,
      })),
    ),
}

/** A caller with less than full access creates no token if the route requires a token. */
const narrower: Attack = {
  row: 'Scope escalation',
  name: 'a token made by a narrower one',
  on: (target) => mints(target) && target.need === 'full',
  shots: (target, scene) => {
    const names = ['read', 'write', 'machine read', 'machine write']
    const callers = scene.callers[target.listener].filter(({ name }) => names.includes(name))
    return Promise.all(
      callers.flatMap((caller) =>
        ['read', 'write', 'full'].map(async (scope) => ({
          bytes: await askedBy(caller, target, scene, {
            lines: [JSON_TYPE, CLOSE],
            body: JSON.stringify({ name: 'stolen', scope }),
          }),
          want: /^403 insufficient_scope$/,
          alone: true as const,
        })),
      ),
    )
  },
}

export const scopes: readonly Attack[] = [...matrix(NAMES), wider, narrower]
