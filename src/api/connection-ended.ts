import { AppError } from '../errors.ts'

/** Returns the error for operations on an ended connection: `invalid_state`, state `ended`. */
export const connectionEnded = (): AppError =>
  new AppError(
    'invalid_state',
    'An owner ended this connection for all members. Delete it, and create a new one if you still need it.',
    { details: { state: 'ended' } },
  )
