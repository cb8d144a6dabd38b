/**
 * Proofs that a request to an address reaches this server. The command line sends a nonce to the
 * public address and to the listener on this machine, and compares the two answers.
 */
import { createHmac } from 'node:crypto'
import type { Open } from '../../api/port.ts'
import type { ServiceContext } from '../context.ts'
import { notFound } from '../db/faults.ts'
import { newServerSecret } from '../db/server-secrets.ts'

/** 16 to 48 bytes in base64url. */
const NONCE = /^[\w-]{22,64}$/

export const addressProofs = ({ db }: ServiceContext): Open['addressProofs'] => {
  const secret = newServerSecret(db, 'address proofs')
  return {
    read: async ({ nonce }) => {
      if (!NONCE.test(nonce)) throw notFound('proof')
      const mac = createHmac('sha256', await secret())
      return { proof: mac.update(`countersign address\n${nonce}`).digest('base64url') }
    },
  }
}
