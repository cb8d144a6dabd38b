/**
 * A visitor without an account at the pages of an open link, with the forms that a browser sends.
 */
import assert from 'node:assert/strict'
import { confirmationIn } from '../service/letters.ts'

async function submit(url: string, fields: Readonly<Record<string, string>>): Promise<void> {
  const { status } = await fetch(url, {
    method: 'POST',
    headers: { Origin: new URL(url).origin },
    body: new URLSearchParams(fields),
  })
  assert.equal(status, 200)
}

/** Submits a request by an open link, and follows the mailed link. */
export async function askedBy(
  url: string,
  mailDir: string,
  email: string,
  { display_name = 'Somebody', message = '' } = {},
): Promise<void> {
  await submit(url, { display_name, email, message })
  await submit(await confirmationIn(mailDir, email), {})
}
