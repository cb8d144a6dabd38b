/** What is refused about a connection, with the commands that help. */
import { AppError } from '../errors.ts'

const isState = (error: AppError, state: string) =>
  error.code === 'invalid_state' && error.details.state === state

/** The remedy for a connection's id; null where what the error says itself will do. */
function remedy(error: AppError, id: string): string | null {
  if (isState(error, 'rotation_pending'))
    return `Somebody who knew the secret of this connection has left it, or lost a device, so nothing verifies until it has a new one: "countersignd rotate ${id}" makes it; "countersignd sync" fetches it where another member has. Where "countersignd trust list" shows keys that changed, confirm them first ("countersignd trust confirm ID"): an owner has to, and whoever follows that member; or have an owner remove that member.`
  if (error.code === 'secret_unavailable')
    return `The secret of this connection is not on this device. "countersignd sync" fetches it, once a device that holds it has synced. Where no device has it any more, "countersignd rotate ${id}" makes a new one.`
  return null
}

/** Do something with a connection; what is refused is said in words of the command line. */
export async function helped<T>(id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const told = error instanceof AppError ? remedy(error, id) : null
    if (told === null) throw error
    const { code, details } = error as AppError
    throw new AppError(code, told, { details, cause: error })
  }
}
