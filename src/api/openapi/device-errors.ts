/** An example of each error of an account server's routes for devices. */
import { BODIES, type ErrorBodies, examplesFrom } from './errors.ts'

/**
 * The example bodies of a daemon, with those of errors that an account server words differently.
 */
const DEVICE_BODIES: ErrorBodies = {
  ...BODIES,
  unauthorized: {
    message:
      'This route needs the session of a device ("Authorization: DPoP <token>" with its proof) or a machine account’s token ("Authorization: Bearer <token>").',
  },
  invalid_client: { message: 'The assertion does not prove the machine account.' },
  invalid_token: {
    message: 'This session has ended, or is another key’s: renew it.',
  },
  forbidden: { message: 'Only the session of an approved device may ask this.' },
  host_not_allowed: { message: 'This server answers to Host countersign.example only.' },
  insufficient_scope: {
    message:
      "This token's scope is read; POST /device/v1/lookups requires write or full. Use a token with that scope.",
    required_scope: 'write or full',
  },
  conflict: { message: 'Another entry came first: read the key log and decide anew.' },
  invalid_state: { message: 'This device is approved already.', state: 'active' },
  rate_limited: {
    message:
      'Too many requests at once: the limit is 16 in flight. Wait for the answers, then try again.',
  },
  validation_failed: {
    message: 'The request is not valid (entry): bad_signature: the signature does not verify',
    issues: [{ path: 'entry', message: 'bad_signature: the signature does not verify' }],
  },
  backend_unavailable: { message: 'The database is out of reach. Try again later.' },
}

export const deviceErrorExamples = examplesFrom(DEVICE_BODIES)
