/** Stamp files: what a device exports, and what an account server sends for a link. */
import * as v from 'valibot'
import { Jwk, Jws } from './fields.ts'

export const StampFileBody = v.object({
  stamp: Jws,
  key_log: v.array(Jws),
  receipt: v.optional(Jws),
})

/** A stamp file with the signed profile of its account and the key of the receipt. */
export const ServedStampBody = v.object({
  ...StampFileBody.entries,
  profile: v.optional(Jws),
  receipt_key: Jwk,
})
export type ServedStampFile = v.InferOutput<typeof ServedStampBody>
