import { AppError } from '../errors.ts'

/** The error for an operation on a connection that an owner ended: `invalid_state`, `ended`. */
export const connectionEnded = (): AppError =>
  new AppError(
    'invalid_state',
    'An owner ended this connection for all members. Delete it, and create a new one if you still need it.',
    { details: { state: 'ended' } },
  )
