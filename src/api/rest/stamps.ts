import * as v from 'valibot'
import { Jws, LogEntry, Page, Sha256Hex, Time, id, listOf, named } from '../fields.ts'
import { Reachable } from '../reachable.ts'
import { BACKEND_ERRORS, type Routes } from '../route.ts'
import { NameMarks, NameSource } from './names.ts'
import { Stamp } from './stamp.ts'
import { StampAssurance } from './verify.ts'

/** What a stamp is about, as its device signed it. */
const claims = {
  sha256: Sha256Hex,
  length: v.pipe(
    v.nullable(v.number()),
    v.description('The size of the content in bytes; null if only its hash was given.'),
  ),
  media_type: v.nullable(v.string()),
  context: v.nullable(v.string()),
}

const ReceivedAt = v.pipe(
  v.nullable(Time),
  v.description("When the account server received the stamp; null without the server's receipt."),
)

export const ListedStamp = named(
  'ListedStamp',
  v.object({
    id: id('stm_'),
    words: v.string(),
    ...claims,
    signed_at: Time,
    received_at: ReceivedAt,
    assurance_level: StampAssurance,
    verification_url: v.string(),
    reachable: Reachable,
  }),
)
export type ListedStamp = v.InferOutput<typeof ListedStamp>

const GivenStamp = v.pipe(
  v.strictObject({
    stamp: Jws,
    key_log: v.array(LogEntry),
    receipt: v.optional(v.nullable(Jws)),
  }),
  v.description('The parts of a stamp file. Give this or else `link`.'),
)

export const StampQuestion = named(
  'StampQuestion',
  v.pipe(
    v.strictObject({
      sha256: v.pipe(Sha256Hex, v.description('The SHA-256 hash of the content that you have.')),
      file: v.optional(GivenStamp),
      link: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(2048),
          v.description(
            'The link of a stamp at the account server of this device, with its part after `#`.',
          ),
        ),
      ),
      root: v.optional(
        v.pipe(
          Sha256Hex,
          v.description(
            'The root of the signer, which the signer gave to you in a way that you trust. Then only this signer counts.',
          ),
        ),
      ),
    }),
    v.check(
      ({ file, link }) => (file === undefined) !== (link === undefined),
      'Give exactly one of file and link.',
    ),
  ),
)

export const StampVerdict = named(
  'StampVerdict',
  v.object({
    valid: v.pipe(
      v.boolean(),
      v.description('true: the stamp is of exactly this content, and its signer is known.'),
    ),
    conclusive: v.pipe(
      v.boolean(),
      v.description('false: the stamp could not be judged. `reason` has the reason.'),
    ),
    reason: v.pipe(
      v.nullable(v.string()),
      v.description(
        'null if `valid`. digest_mismatch: the stamp is of other content. other_stamp, other_id: the server sent another stamp than the link names. other_root: another signer than `root`. ' +
          'signer_unknown: the signature matches the content, but this device does not know the keys of the signer. not_found: the server has no stamp at this link. other_server: the link is not of the ' +
          'account server of this device. Otherwise, the rule of the protocol that the stamp broke.',
      ),
    ),
    stamp: v.pipe(
      v.nullable(
        v.object({
          id: id('stm_'),
          account_id: id('acc_'),
          device_id: id('dev_'),
          ...claims,
          signer: v.pipe(
            v.picklist(['root', 'own', 'remembered', 'unknown']),
            v.description(
              'Why the signer is known. root: by `root`. own: this account. remembered: a contact, or a person whose keys this device follows.',
            ),
          ),
          display_name: v.pipe(
            v.nullable(v.string()),
            v.description('The name of the signer; null if none is known.'),
          ),
          name_source: v.nullable(NameSource),
          name_marks: NameMarks,
          root: v.pipe(Sha256Hex, v.description('What identifies the signer.')),
          reset: v.pipe(
            v.nullable(v.picklist(['recovered', 'anew'])),
            v.description(
              'Whether all devices of the account were once replaced: with its recovery key, or without it; null if they were not.',
            ),
          ),
          signed_at: v.pipe(Time, v.description('As the signer claims.')),
          received_at: ReceivedAt,
          receipt: v.pipe(
            v.picklist(['verified', 'none', 'unknown_key']),
            v.description('unknown_key: the receipt is of another account server.'),
          ),
          assurance_level: StampAssurance,
          words: v.string(),
        }),
      ),
      v.description('What the stamp contains, if its signature matches the content.'),
    ),
  }),
)
export type StampVerdict = v.InferOutput<typeof StampVerdict>

export const stamps = {
  list: {
    method: 'GET',
    path: '/api/v1/stamps',
    by: 'daemon',
    errors: ['no_device', 'not_signed_in'],
    query: Page,
    reply: listOf(ListedStamp),
  },
  read: {
    method: 'GET',
    path: '/api/v1/stamps/{id}',
    by: 'daemon',
    errors: ['no_device', 'not_signed_in'],
    reply: Stamp,
  },
  check: {
    method: 'POST',
    path: '/api/v1/stamps/check',
    by: 'daemon',
    errors: ['no_device', 'not_signed_in', ...BACKEND_ERRORS],
    body: StampQuestion,
    reply: StampVerdict,
    repeats: true,
  },
} as const satisfies Routes
