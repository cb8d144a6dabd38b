/**
 * Generates the OpenAPI document of `/device/v1/`, for authors of other clients.
 *
 * These are the requests of a device to an account server. The document is generated from the same
 * rows that the account server uses.
 */
import { entrance, signedIn } from '../device/index.ts'
import { DEVICE_GROUPS, DEVICE_SUMMARIES } from '../device/texts.ts'
import { rest } from '../rest/index.ts'
import { restTextOf } from '../rest/texts/index.ts'
import { displayNameOf } from '../rest/texts/text.ts'
import { type Table, isOnce } from '../route.ts'
import { type ByRow, filterRows } from '../rows.ts'
import {
  FRAME,
  IDEMPOTENCY_KEY,
  KEY,
  converter,
  definitionsOfTable,
  schemasOf,
  groupTag,
} from './document.ts'
import { type Folded, type JsonRecord } from './json-schema.ts'
import { type RowPlace, codesOf } from './errors.ts'
import { type OperationText, type Wording, pathsOf } from './paths.ts'
import { errorComponents } from './responses.ts'

const PREFIX = '/device/v1/'

/** The rows of the daemon's interface that a client of an account server also needs, by group. */
export const accountRows: Table = filterRows(
  rest,
  (_, name, group) => restTextOf(group, name).onAccountServer !== undefined,
)

/** The rows under `/device/v1/`, and the rows under `/api/v1/` that a client needs, by group. */
export const deviceTable: Table = {
  ...filterRows({ ...entrance, ...signedIn }, ({ path }) => path.startsWith(PREFIX)),
  ...accountRows,
}

const ABOUT = `The interface of an account server to the devices of an account. \`docs/protocol.md\` defines the signed structures in these requests and the checks that a device makes, because devices do not trust the server.

A device authenticates with an access token that is bound to its authentication key (RFC 9449). Send \`Authorization: DPoP <token>\`, and in \`DPoP\` a proof for this request with the newest \`DPoP-Nonce\` that the server sent. If the server returns 401 with \`error="use_dpop_nonce"\`, send the request again with the nonce from that answer.

The routes under \`/api/v1/\` here are those of a daemon that a client needs as well. Their descriptions say how the answers of an account server differ. An account server has no device of its own, so it signs nothing and has no secrets. It also answers other routes of the daemon's document, which no client needs.

Every error has one shape: \`{"error": "…", "message": "…"}\`. \`error\` is stable; \`message\` is safe to show. If a signed structure breaks a rule, the error is \`validation_failed\`, and \`issues\` has the reason as \`docs/protocol.md\` names it.`

/** The only route that requires a machine account's token. */
const TOKEN = signedIn.bearer.read.path

const NEEDS: Readonly<Record<string, string>> = {
  none: 'Needs no session.',
  device: 'Needs the session of a device, which may be one that waits for approval.',
  session: 'Needs the session of an approved device.',
  read: 'Needs the session of a device, or any token of a machine account.',
  write:
    'Needs the session of an approved device, or a token of a machine account of scope `write` or `full`.',
  full: 'Needs the session of an approved device, or a token of a machine account of scope `full`.',
}

const PROOF: JsonRecord = { $ref: '#/components/parameters/DPoP' }

/** The only route that requires a DPoP proof but no access token. */
const RENEWAL = entrance.session.renew.path

/** Returns the texts of a row. A row under `/device/v1/` has only a summary. */
function rowTextOf({ group, name }: RowPlace): OperationText {
  const ofDevice = (DEVICE_SUMMARIES as ByRow<string>)[group]?.[name]
  if (ofDevice !== undefined) return { summary: ofDevice, description: '' }
  const { summary, onAccountServer = '' } = restTextOf(group, name)
  return { summary, description: onAccountServer }
}

const wording: Wording = {
  textOf: (place) => {
    const { need, route } = place
    const { summary, description } = rowTextOf(place)
    const sentences = [
      description,
      route.path === TOKEN ? 'Needs a token of a machine account, of any scope.' : NEEDS[need],
      route.path === RENEWAL ? 'Needs a proof of the authentication key.' : '',
      route.limit === undefined ? '' : `The body can be at most ${route.limit} bytes long.`,
    ]
    return { summary, description: sentences.filter((sentence) => sentence !== '').join(' ') }
  },
  security: ({ need, route }) => {
    if (need === 'none') return []
    if (route.path === TOKEN) return [{ machine: [] }]
    return need === 'device' || need === 'session' ? undefined : [{ device: [] }, { machine: [] }]
  },
  headers: ({ need, route }) => [
    ...((need !== 'none' && route.path !== TOKEN) || route.path === RENEWAL ? [PROOF] : []),
    ...(need !== 'none' && isOnce(route) ? [KEY] : []),
  ],
  codes: (place) => codesOf(place, 'account server'),
  marksCopies: false,
}

/**
 * Generates the OpenAPI document of the device interface.
 * @param need returns the need of a row, from the account server's scope table
 */
export function deviceDocument(need: Folded['need']): JsonRecord & { openapi: string } {
  const definitions = definitionsOfTable(deviceTable)
  const paths = pathsOf({ table: deviceTable, need }, converter(definitions), wording)
  const { openapi, license } = FRAME
  return {
    openapi,
    // This is the version of the protocol, because the rows change with the protocol and not with
    // every release.
    info: { title: 'Countersign account server', version: '2', description: ABOUT, license },
    servers: [{ url: 'https://countersign.example', description: 'The account server.' }],
    security: [{ device: [] }],
    tags: [
      ...Object.entries(DEVICE_GROUPS).map(([name, description]) => ({
        name,
        'x-displayName': displayNameOf(name),
        description,
      })),
      ...Object.keys(accountRows).map(groupTag),
    ],
    paths,
    components: {
      securitySchemes: {
        device: {
          type: 'http',
          scheme: 'DPoP',
          description: 'The access token of a session, bound to the authentication key (RFC 9449).',
        },
        machine: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of a machine account (csm_).',
        },
      },
      parameters: { DPoP, IdempotencyKey: IDEMPOTENCY_KEY },
      ...errorComponents(paths, 'account server'),
      schemas: schemasOf(definitions, { head: HEAD }),
    },
  }
}

const HEAD: JsonRecord = {
  type: 'string',
  description:
    'With a `conflict` of a roster or of envelopes: the hash of the newest entry, 32 bytes in base64url.',
}

const DPoP: JsonRecord = {
  name: 'DPoP',
  in: 'header',
  // A machine account sends its token without a proof.
  required: false,
  description:
    'A proof for this request, made with the authentication key of the device (RFC 9449 section 4.2). Every request of a device needs a proof.',
  schema: { type: 'string' },
}
