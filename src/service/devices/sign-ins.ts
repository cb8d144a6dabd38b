/**
 * Sign-ins: how a user proves an identity before the device is enrolled. A request for a code
 * reveals nothing about the address, because the mail and the response are the same whether or not
 * it has an account.
 */
import { timeAt } from '../../api/fields.ts'
import { invalid } from '../../api/input.ts'
import type { Open } from '../../api/port.ts'
import { machineOf } from './oauth.ts'
import {
  LIFETIME_MS,
  type PresentedCode,
  presentCode,
  sendEnrolmentCode,
} from './enrolment-codes.ts'
import { ANY_READER, languageOf } from '../../languages/languages.ts'
import { readerAt } from '../accounts/readers.ts'
import type { ServiceContext } from '../context.ts'
import { keyLogPage } from '../db/log-pages.ts'
import { codeMessage } from '../mail/messages.ts'

/** A credential for an account: a person's code, or a machine account's assertion. */
export interface Credential {
  /** The only account that the credential can be used for; null if it may create an account. */
  readonly account: string | null
  /**
   * The machine that the credential proves, if that machine has no account id yet; otherwise null.
   */
  readonly machine: string | null
  /** The code; null if the credential is an assertion, which is then used up. */
  readonly code: PresentedCode | null
}

/**
 * Checks the presented credential.
 * @throws AppError `validation_failed` unless there is exactly one credential; `invalid_token` for
 *   an invalid code, `invalid_client` for an invalid assertion
 */
export async function checkCredential(
  ground: ServiceContext,
  { code, assertion }: { code?: string | undefined; assertion?: string | undefined },
): Promise<Credential> {
  if ((code === undefined) === (assertion === undefined))
    throw invalid('body', [{ path: '', message: 'Give either a code or an assertion.' }])
  if (assertion !== undefined) {
    const { machine, account } = await machineOf(ground, assertion)
    return account === machine
      ? { account: null, machine, code: null }
      : { account, machine: null, code: null }
  }
  const presented = await presentCode(ground, code as string)
  return { account: presented.account, machine: null, code: presented }
}

export const signIns = (ground: ServiceContext): Open['signIns'] => ({
  create: async ({ body }, { languages }) => {
    const email = body.email.toLowerCase()
    const publicUrl = ground.publicUrl()
    const minutes = LIFETIME_MS / 60_000
    const expiresAt = await sendEnrolmentCode(ground, email, async (code) => {
      // The preferences of an account change only the letter. So only the reader of the mailbox can
      // see that there is an account.
      const requester = { ...ANY_READER, language: languageOf(languages) }
      const reader = await readerAt(ground.db, email, requester)
      await ground.mail.send(codeMessage({ to: email, reader, code, minutes, publicUrl }))
    })
    return { email, expires_at: timeAt(expiresAt) }
  },

  read: async ({ body }) => {
    const { account, code } = await checkCredential(ground, body)
    const email = code?.email ?? null
    if (account === null) return { account_id: null, key_log: [], key_log_seq: null, email }
    const { db, logPages } = ground
    const { entries, seq } = await keyLogPage(db, logPages, { account, from: body.from ?? 0 })
    return { account_id: account, key_log: entries, key_log_seq: seq < 0 ? null : seq, email }
  },
})
