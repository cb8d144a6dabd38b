import { enrolByMail, join, mailedCode, newAddress } from '../service/person.ts'
import type { Accounts } from './subject.ts'

/** Enrols a person with a mailbox, and a second device that awaits approval. */
export async function withNewcomer(server: Accounts['server']) {
  const email = newAddress()
  const ada = await enrolByMail(server, email)
  const laptop = await join(server, await mailedCode(server, email))
  return { email, ada, laptop }
}
