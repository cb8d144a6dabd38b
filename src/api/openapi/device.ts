/**
 * The OpenAPI document of `/device/v1/`: the requests of a device to an account server, for
 * authors of other clients. It is generated from the same rows that the account server answers.
 */
import { type Entrance, entrance, type SignedIn, signedIn } from '../device/index.ts'
import { type Table, isOnce } from '../route.ts'
import { filterRows } from '../rows.ts'
import {
  FRAME,
  IDEMPOTENCY_KEY,
  KEY,
  converter,
  definitionsOfTable,
  displayNameOf,
  schemasOf,
  groupTag,
} from './document.ts'
import { type Folded, type JsonRecord } from './json-schema.ts'
import { accountRows, accountTextOf } from './account-rows.ts'
import { codesOf } from './errors.ts'
import { type Wording, pathsOf } from './paths.ts'
import { errorComponents } from './responses.ts'

const PREFIX = '/device/v1/'

/** The rows under `/device/v1/`, and those under `/api/v1/` that a client needs, by group. */
export const deviceTable: Table = {
  ...filterRows({ ...entrance, ...signedIn }, ({ path }) => path.startsWith(PREFIX)),
  ...accountRows,
}

const ABOUT = `The interface of an account server to the devices of an account. \`docs/protocol.md\` defines the signed structures in these requests and the checks of a device: the server is not trusted with any of it.

A device proves itself by an access token that is bound to its authentication key (RFC 9449): \`Authorization: DPoP <token>\`, and in \`DPoP\` a proof for this request, with the newest \`DPoP-Nonce\` that the server sent. An answer 401 with \`error="use_dpop_nonce"\` brings a nonce: ask again with it.

The routes under \`/api/v1/\` here are those of a daemon that a client needs as well. Their descriptions say what an account server answers, which has no device of its own: it signs nothing and holds no secret. It answers further routes of the daemon's document, which no client needs.

Every error has one shape: \`{"error": "…", "message": "…"}\`. \`error\` is stable; \`message\` is safe to show. A signed structure that breaks a rule is \`validation_failed\`, with the reason of \`docs/protocol.md\` in \`issues\`.`

/** The description of each group under `/device/v1/`: a missing one does not compile. */
const GROUPS: { readonly [G in Exclude<keyof (SignedIn & Entrance), 'oauth'>]: string } = {
  signIns: 'How a person begins to sign in.',
  enrolment: 'How a device gets its session.',
  session: 'How a device keeps its session.',
  clock: 'The time by which windows and proofs are judged.',
  currentSession: 'The session that asks.',
  keyLogs: 'The signed log of the devices of an account.',
  pendingDevices: 'The approval of a further device, at the device that approves.',
  approval: 'The approval of a further device, at the new device.',
  rosters: 'The signed log of the members of a connection.',
  envelopes: 'Secrets of connections, sealed to one device each.',
  signedProfiles: 'The name of an account, signed by one of its devices.',
  consents: 'What an account signs before it is added to a connection.',
  duties: 'What other devices wait for. A hint: it is checked before anything is signed or sealed.',
  publicCode: 'The secret of the public code, which the account server shares.',
  lookups: 'The public codes and stamps that three words belong to.',
  deviceGuestCodes: 'Guest codes with secrets that a device makes.',
  deviceFirstContacts: 'Messages of a first contact by four words, relayed as they are.',
  downloads: 'Links to finished exports.',
  openLinkApprovals: 'Who asked to connect, by an open link.',
  stamps: 'Stamps, and the receipts of the account server.',
  deletion: 'Whether the account can be deleted.',
  verifications: 'The verification log, handed over by each device.',
  machines: 'Machine accounts of an organisation.',
  machineTokens: 'Tokens of a machine account.',
  bearer: 'The token that asks.',
}

/** The only row that requires the token of a machine account. */
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

/** The only row that requires a proof and no access token. */
const RENEWAL = entrance.session.renew.path

const wording: Wording = {
  describe: ({ group, name, need, route }) =>
    [
      accountTextOf(group, name),
      route.path === TOKEN ? 'Needs a token of a machine account, of any scope.' : NEEDS[need],
      route.path === RENEWAL ? 'Takes a proof of the authentication key.' : '',
      route.limit === undefined ? '' : `The body has at most ${route.limit} bytes.`,
    ]
      .filter((sentence) => sentence !== '')
      .join(' '),
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
}

/** Generates the document of the rows; `need` is that of the account server's scope table. */
export function deviceDocument(need: Folded['need']): JsonRecord & { openapi: string } {
  const definitions = definitionsOfTable(deviceTable)
  const paths = pathsOf({ table: deviceTable, need }, converter(definitions), wording)
  const { openapi, license } = FRAME
  return {
    openapi,
    // The version of the protocol: the rows change with it, and not with every release.
    info: { title: 'Countersign account server', version: '2', description: ABOUT, license },
    servers: [{ url: 'https://countersign.example', description: 'The account server.' }],
    security: [{ device: [] }],
    tags: [
      ...Object.entries(GROUPS).map(([name, description]) => ({
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
    'With `conflict` of a roster or of envelopes: the hash of the newest entry, base64url of 32 bytes.',
}

const DPoP: JsonRecord = {
  name: 'DPoP',
  in: 'header',
  // A machine account sends its token without a proof.
  required: false,
  description:
    'The proof of this request by the authentication key of the device (RFC 9449 section 4.2); every request of a device needs one.',
  schema: { type: 'string' },
}
