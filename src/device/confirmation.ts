/**
 * The newcomer's half of an approval: it takes the key log of its account only when the six words that the approving device shows
 * are those of this log, and it is itself in it. A server that made up a log cannot make up the words on that screen.
 */
import type { Account } from '../api/port.ts'
import { logWords } from '../crypto/approval.ts'
import { encodeBase64url } from '../crypto/base64url.ts'
import { publicKeys, sameKeys } from '../crypto/device-keys-v1.ts'
import type { KeyLog } from '../crypto/key-log-v1.ts'
import { AppError } from '../errors.ts'
import type { State } from '../state/state.ts'
import { type Identity, changeFacts } from './identity.ts'
import { fetchKeyLog, keepKeyLog } from './key-log.ts'
import { demandWords } from './six-words.ts'

const OTHER_WORDS =
  'These are not the words of the key log that the account server shows here, and nothing was changed. Another device may have changed the log since they were shown: ' +
  'run "countersignd device approve" on the other device again, and type the six words that it shows then. If those are refused as well, the account server shows ' +
  'this device another log than that one: it may be dishonest.'

const notYet = () =>
  new AppError(
    'invalid_state',
    'Not approved yet: do it on the other device first, with "countersignd device approve" and the six words of this one.',
    { details: { state: 'awaiting_approval' } },
  )

async function demandOwn(log: KeyLog, identity: Identity): Promise<void> {
  const own = log.devices.get(identity.device)
  if (own === undefined) throw notYet()
  if (own.revokedAt !== null)
    throw new AppError(
      'invalid_state',
      'This device was revoked. Give up with "countersignd logout", and sign in anew.',
      { details: { state: 'revoked' } },
    )
  if (!sameKeys(own.keys, publicKeys(await identity.keys())))
    throw new AppError(
      'backend_error',
      'The key log that the account server shows has other keys for this device, and nothing was changed. The server may be dishonest.',
    )
}

/**
 * Compare the words, keep the log, and tell the server. Again after a crash, it does the same once more.
 * @param words as read off the approving device's screen
 * @throws AppError word_count, unknown_word, validation_failed, invalid_state before the other device approved, backend_error,
 *   and what the account throws
 */
export async function confirm(
  of: { identity: Identity; state: State; account: Account },
  words: string,
): Promise<void> {
  const { identity, state, account } = of
  const log = await fetchKeyLog(state, account, identity.account)
  await demandOwn(log, identity)
  demandWords(words, logWords({ account: identity.account, head: log.head }), OTHER_WORDS)
  state.transaction(() => keepKeyLog(state, log))
  await account.approval.create({ body: { head: encodeBase64url(log.head) } })
  changeFacts(state, { approved: true })
}
