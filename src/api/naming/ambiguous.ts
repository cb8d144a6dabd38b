/** The error for a name that several items have. The command line exits with a code of its own. */
import { AppError } from '../../errors.ts'

export class AmbiguousNameError extends AppError {
  constructor(message: string) {
    super('conflict', message, { details: { state: 'ambiguous_name' } })
    this.name = 'AmbiguousNameError'
  }
}
