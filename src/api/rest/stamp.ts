import * as v from 'valibot'
import { Jws, Sha256Hex, Time, id, named, text, wellFormed } from '../fields.ts'
import { Reachable } from '../reachable.ts'
import type { Routes } from '../route.ts'
import { StampAssurance } from './verify.ts'

/** The maximum body size in bytes: enough for 8 MiB of content as base64 or as JSON text. */
const LIMIT = 12 * 1024 * 1024
/**
 * The maximum size of content that may be sent, in bytes. Larger content is stamped by its digest.
 */
export const CONTENT_BYTES = 8 * 1024 * 1024

export const NewStamp = named(
  'NewStamp',
  v.pipe(
    v.strictObject({
      content: v.optional(
        v.pipe(
          v.string(),
          wellFormed,
          v.description(
            'The text to sign, as its UTF-8 bytes. Give this, or else content_base64 or sha256.',
          ),
        ),
      ),
      content_base64: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(
            Math.ceil(CONTENT_BYTES / 3) * 4,
            'The content may have at most 8 MiB. Stamp larger files by sha256.',
          ),
          // A flat pattern. valibot's own base64 pattern recurses, so content of a few megabytes
          // overflows its stack.
          v.regex(/^[A-Za-z0-9+/]*={0,2}$/, 'Expected base64 (RFC 4648 section 4).'),
          v.check((text) => text.length % 4 === 0, 'Expected base64 with its padding.'),
          v.description('The bytes to sign, in base64. Give this, or else content or sha256.'),
        ),
      ),
      sha256: v.optional(
        v.pipe(
          Sha256Hex,
          v.description(
            'The SHA-256 hash of the content in lower-case hexadecimal digits; the content itself is then not sent. Give this, or else content or content_base64.',
          ),
        ),
      ),
      media_type: v.optional(
        v.nullable(
          v.pipe(
            v.string(),
            v.maxLength(127),
            v.regex(
              /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w!#$&^.+-]+=[\w!#$&^.+"-]+)*$/,
              'Expected a media type such as text/plain.',
            ),
            v.description('The media type of the content, such as text/plain. It is signed too.'),
          ),
        ),
      ),
      context: v.optional(
        v.nullable(v.pipe(text(500), v.description('What the content is for. It is signed too.'))),
      ),
    }),
    v.check(
      (body) =>
        [body.content, body.content_base64, body.sha256].filter((x) => x !== undefined).length ===
        1,
      'Give exactly one of content, content_base64 and sha256.',
    ),
    v.description('Give exactly one of content, content_base64 and sha256.'),
  ),
)

export const Stamp = named(
  'Stamp',
  v.object({
    id: id('stm_'),
    words: v.pipe(
      v.string(),
      v.description('Three words to look the stamp up with. They prove nothing.'),
    ),
    signed_at: Time,
    assurance_level: StampAssurance,
    verification_url: v.pipe(
      v.string(),
      v.description('The page that a recipient opens to check the stamp.'),
    ),
    reachable: Reachable,
    sha256: Sha256Hex,
    stamp: Jws,
    key_log: v.pipe(
      v.array(Jws),
      v.description(
        'The key log of the signer. Together with `stamp` and `receipt` it is a complete stamp file.',
      ),
    ),
    receipt: v.pipe(
      v.nullable(Jws),
      v.description(
        "The account server's receipt; null while the account server cannot be reached.",
      ),
    ),
  }),
)

export type Stamp = v.InferOutput<typeof Stamp>

export const stamp = {
  create: {
    method: 'POST',
    path: '/api/v1/stamp',
    by: 'daemon',
    errors: ['conflict', 'no_device', 'not_signed_in'],
    body: NewStamp,
    limit: LIMIT,
    reply: Stamp,
    status: 201,
  },
} as const satisfies Routes
