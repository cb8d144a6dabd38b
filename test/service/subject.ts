/** An account server in this process, as the suites want it. */
import { AppError } from '../../src/errors.ts'
import { openService, type AccountServer } from '../../src/service/service.ts'
import type { Subject } from '../account.suite.ts'

/** Where the database is. */
export interface Place {
  readonly url: string | null
  readonly file: string
}

export const PUBLIC_URL = 'https://countersign.test'

export type LocalSubject = Subject & { readonly service: AccountServer }

export async function openSubject(place: Place): Promise<LocalSubject> {
  const clock = { ms: Date.UTC(2026, 0, 1) }
  const service = await openService({
    ...place,
    publicUrl: () => PUBLIC_URL,
    version: '1.2.3',
    now: () => clock.ms,
  })
  const account = async (accessToken: string) => {
    const session = await service.authenticate(accessToken)
    if (session === null) throw new AppError('invalid_token', 'The session has ended.')
    return service.as(session)
  }
  return {
    service,
    clock,
    server: {
      door: service.door,
      account,
      newEnrolmentCode: (of) => service.newEnrolmentCode(of),
    },
    close: () => service.close(),
  }
}
