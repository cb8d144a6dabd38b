import * as v from 'valibot'
import {
  PurposeText,
  ShownPurpose,
  Time,
  Words,
  betweenDays,
  id,
  listOf,
  named,
  pageOfThose,
} from '../fields.ts'
import { BACKEND_ERRORS, type Routes } from '../route.ts'
import { ExternalMemberName } from './guest-codes.ts'
import { NameMarks, NameSource } from './names.ts'
import { PublicProfile } from './profiles.ts'

/** The reasons for which an answer, or a match, is not conclusive. */
export const Reason = v.picklist([
  'nothing_cached',
  'secret_missing',
  'clock_uncertain',
  'sync_stale',
  'rotation_pending',
  'roster_forked',
  'connection_ended',
  'old_epoch',
])
export type Reason = v.InferOutput<typeof Reason>

/** The speaker of words, and the connection or guest code that the words belong to. */
const Identified = v.object({
  kind: v.picklist(['connection', 'guest']),
  speaker: v.pipe(
    v.picklist(['self', 'other']),
    v.description('self: these are your own words, repeated back. They prove nothing.'),
  ),
  connection_id: v.optional(id('con_')),
  connection_name: v.optional(v.string()),
  guest_code_id: v.optional(id('gst_')),
  external_member: v.optional(
    v.pipe(
      v.nullable(ExternalMemberName),
      v.description('For a guest: the external member of the guest code; null if there is none.'),
    ),
  ),
  member_id: v.optional(id('acc_')),
  display_name: v.string(),
  window: v.pipe(
    v.number(),
    v.integer(),
    v.description('The minute of the words, counted from the start of 1970.'),
  ),
})
export type Identified = v.InferOutput<typeof Identified>

export const Match = named(
  'Match',
  v.object({
    ...Identified.entries,
    name_source: NameSource,
    name_marks: NameMarks,
    conclusive: v.pipe(
      v.boolean(),
      v.description(
        'false: something that this match depends on could not be checked. Unchecked facts of other connections do not matter here.',
      ),
    ),
    reasons: v.optional(
      v.pipe(
        v.array(Reason),
        v.description('Why the match is not conclusive; absent if it is conclusive.'),
      ),
    ),
  }),
)
export type Match = v.InferOutput<typeof Match>

/** The speaker that the caller expects. */
const Expectation = v.pipe(
  v.union(
    [
      v.strictObject({ connection_id: id('con_') }),
      v.strictObject({ user_id: id('acc_') }),
      v.strictObject({ guest_code_id: id('gst_') }),
    ],
    'Give one of "connection_id", "user_id" and "guest_code_id", and nothing else.',
  ),
  v.description(
    'Check only the words of this connection, of this member of your connections, or of this guest. Words of other people count as wrong.',
  ),
)
export type Expectation = v.InferOutput<typeof Expectation>

const OldEpoch = v.pipe(
  v.literal(true),
  v.description(
    'The words are from before the last routine change of a connection’s secret, at most 7 days ago. They prove nothing: ask the other person to open the app and say new words.',
  ),
)

export const Verification = named(
  'Verification',
  v.object({
    verified: v.boolean(),
    conclusive: v.pipe(
      v.boolean(),
      v.description(
        'false: something could not be checked, so do not report "not verified". The `conclusive` of a match shows whether you can rely on that match.',
      ),
    ),
    replayed: v.boolean(),
    echo: v.boolean(),
    summary: v.string(),
    matches: v.array(Match),
    checked: v.pipe(v.number(), v.integer()),
    unchecked: v.pipe(v.number(), v.integer()),
    reasons: v.array(Reason),
    purpose: v.optional(
      v.pipe(v.string(), v.description('For a challenge: its `purpose`. Show it to the user.')),
    ),
    first_verified_at: v.optional(Time),
    old_epoch: v.optional(OldEpoch),
    changed_at: v.optional(
      v.pipe(Time, v.description('With `old_epoch`: when the connection got a new secret.')),
    ),
    checked_at: Time,
  }),
)
export type Verification = v.InferOutput<typeof Verification>

export const Challenge = named(
  'Challenge',
  v.object({
    id: id('chl_'),
    connection_id: v.pipe(
      v.nullable(id('con_')),
      v.description('null if the challenge is for any of your connections.'),
    ),
    word: v.pipe(v.string(), v.description('The challenge word for you, the listener, to say.')),
    purpose: ShownPurpose,
    expires_at: Time,
  }),
)
export type Challenge = v.InferOutput<typeof Challenge>

/**
 * A stamp that was found by its words.
 *
 * The words only help to find the stamp. The evidence is the signature at the URL.
 */
export const StampFound = v.object({
  issuer: id('acc_'),
  signed_at: Time,
  received_at: Time,
  verification_url: v.string(),
})

/** What the account server had verified about the signer when it received the stamp. */
export const StampAssurance = v.picklist(['device', 'verified_email', 'organisation'])
export type StampAssurance = v.InferOutput<typeof StampAssurance>

/**
 * How well the speaker's identity is assured, from lowest to highest.
 *
 * For a public code, only the account server vouches.
 */
export const AssuranceLevel = v.picklist([
  'public_code',
  ...StampAssurance.options,
  'guest',
  'connection',
])

export const PublicVerification = named(
  'PublicVerification',
  v.object({
    found: v.boolean(),
    conclusive: v.pipe(
      v.boolean(),
      v.description(
        'false: this device could not check everything, or the words belong to an account and prove nothing. In both cases, do not report "no one found".',
      ),
    ),
    replayed: v.pipe(
      v.boolean(),
      v.description(
        'true: the words are correct words of a connection or guest, but were used before. They prove nothing.',
      ),
    ),
    echo: v.pipe(
      v.boolean(),
      v.description('true: your own words, repeated back. They prove nothing.'),
    ),
    first_verified_at: v.optional(
      v.pipe(Time, v.description('If `replayed` is true: when the words were first used.')),
    ),
    old_epoch: v.optional(OldEpoch),
    ambiguous: v.pipe(
      v.boolean(),
      v.description(
        'true: the words belong to more than one account. Ask for the words of the next minute.',
      ),
    ),
    matches: v.array(
      v.object({
        kind: v.picklist(['account', 'stamp', 'connection', 'guest']),
        assurance_level: AssuranceLevel,
        profile: v.optional(PublicProfile),
        stamp: v.optional(StampFound),
        match: v.optional(Match),
      }),
    ),
    checked_at: Time,
  }),
)
export type PublicVerification = v.InferOutput<typeof PublicVerification>

/** A match in the verification log. It can come from a public look-up too. */
export const LoggedMatch = named(
  'LoggedMatch',
  v.object({
    ...Identified.entries,
    kind: v.picklist(['connection', 'guest', 'account', 'stamp']),
    user_id: v.optional(
      v.pipe(
        id('acc_'),
        v.description('The account of the public code, or the signer of the stamp.'),
      ),
    ),
    verification_url: v.optional(
      v.pipe(v.string(), v.description('The page on which the stamp can be checked.')),
    ),
    display_name: v.optional(
      v.pipe(v.string(), v.description('The name at that time; absent for a stamp.')),
    ),
    window: v.optional(
      v.pipe(
        Identified.entries.window,
        v.description('The minute of the words; absent for a stamp.'),
      ),
    ),
  }),
)
export type LoggedMatch = v.InferOutput<typeof LoggedMatch>

export const VerificationEntry = named(
  'LogEntry',
  v.object({
    id: id('ver_'),
    at: Time,
    method: v.picklist(['local', 'public']),
    outcome: v.pipe(
      v.picklist(['verified', 'not_verified', 'inconclusive', 'echo']),
      v.description(
        'For a public look-up: verified means one account was found, not_verified means none, inconclusive means several accounts or a stamp.',
      ),
    ),
    matches: v.array(LoggedMatch),
    caller: v.pipe(
      v.nullable(v.string()),
      v.description('The id of the token that made the request.'),
    ),
  }),
)
export type VerificationEntry = v.InferOutput<typeof VerificationEntry>

export const verify = {
  words: {
    method: 'POST',
    path: '/api/v1/verify',
    by: 'daemon',
    errors: ['not_found', 'invalid_state', 'no_device', 'not_signed_in'],
    body: v.strictObject({
      words: Words,
      expect: v.optional(Expectation),
      challenge_id: v.optional(
        v.pipe(
          id('chl_'),
          v.description(
            'Check the words as the answer to this challenge. A challenge allows one try.',
          ),
        ),
      ),
    }),
    reply: Verification,
    repeats: true,
  },
  challenge: {
    method: 'POST',
    path: '/api/v1/verify/challenges',
    by: 'daemon',
    errors: ['not_found', 'no_device', 'not_signed_in', 'too_long', 'rate_limited'],
    body: v.optional(
      v.strictObject({
        connection_id: v.optional(
          v.pipe(
            id('con_'),
            v.description(
              'The connection that the answer must come from. If left out, any of your connections.',
            ),
          ),
        ),
        purpose: v.optional(PurposeText, ''),
      }),
      {},
    ),
    reply: Challenge,
    status: 201,
    // Repeating the stored answer would reveal the purpose, which must not be stored longer than
    // needed.
    repeats: true,
  },
  public: {
    method: 'POST',
    path: '/api/v1/verify/public',
    by: 'daemon',
    errors: ['no_device', ...BACKEND_ERRORS],
    body: v.strictObject({ words: Words }),
    reply: PublicVerification,
    repeats: true,
  },
} as const satisfies Routes

export const verificationLog = {
  list: {
    method: 'GET',
    path: '/api/v1/verification-log',
    by: 'both',
    copied: true,
    query: pageOfThose(betweenDays),
    reply: listOf(VerificationEntry),
  },
} as const satisfies Routes
