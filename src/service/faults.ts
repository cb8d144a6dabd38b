/** The errors that several groups answer with, so that one fault reads the same everywhere. */
import { isId } from '../crypto/id.ts'
import { Refusal } from '../crypto/refusal.ts'
import { AppError, type Issue } from '../errors.ts'

/** There is no such thing, or it is somebody else's: the caller cannot tell which. */
export const notFound = (what: string) => new AppError('not_found', `There is no such ${what}.`)

/** Throws `not_found` for a text that cannot be an id, so that no query sees it. */
export function demandId(prefix: string, id: string, what: string): void {
  if (!isId(prefix, id)) throw notFound(what)
}

/** What is wrong with the query or the body, in the words of the row's schema or of a rule behind it. */
export function invalid(where: 'query' | 'body', issues: readonly Issue[], cause?: unknown) {
  const [first] = issues
  const at = first?.path ? `${where}, ${first.path}` : where
  return new AppError('validation_failed', `The request is not valid (${at}): ${first?.message}`, {
    details: { issues },
    cause,
  })
}

/** Judge a signed structure of the body; a refusal is the caller's fault at `path`. */
export function judged<T>(path: string, judge: () => T): T {
  try {
    return judge()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw invalid('body', [{ path, message: `${error.reason}: ${error.message}` }], error)
  }
}
