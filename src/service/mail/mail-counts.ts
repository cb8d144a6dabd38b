/** Counts the mails of this process, and remembers whether the last one was accepted. */
import { AppError } from '../../errors.ts'
import { METRICS } from '../../metrics/catalogue.ts'

let waiting = 0
METRICS.mailsWaiting.from(() => [[{}, waiting]])

let isFailing = false

/** Whether the last mail of this process failed, for a reason that concerns other mails too. */
export const isMailFailing = (): boolean => isFailing

/** Counts mails as waiting until the returned function is called, once for each. */
export function waitingMails(count: number): () => void {
  waiting += count
  return () => void waiting--
}

/** Sends a mail and counts it. Rejects as `send` does. */
export async function countedMail(send: () => Promise<void>): Promise<void> {
  const sent = waitingMails(1)
  try {
    await send()
    isFailing = false
    METRICS.mails.add({ result: 'sent' })
  } catch (error) {
    // The relay refused this mail, so it works.
    const isRefused = error instanceof AppError && error.code === 'backend_error'
    isFailing = !isRefused
    METRICS.mails.add({ result: isRefused ? 'refused' : 'failed' })
    throw error
  } finally {
    sent()
  }
}
