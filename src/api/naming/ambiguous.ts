/** The error of ambiguous names. Each start of the program loads it, but not the finder. */
import { AppError } from '../../errors.ts'

/** The error for a name that several items have. The command line exits with a code of its own. */
export class AmbiguousNameError extends AppError {
  constructor(message: string) {
    super('conflict', message, { details: { state: 'ambiguous_name' } })
    this.name = 'AmbiguousNameError'
  }
}
