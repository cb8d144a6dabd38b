/** The texts of `../audit.ts`. */
import type { Texts } from './text.ts'

export const auditTexts: Texts<'audit'> = {
  audit: {
    list: {
      summary: 'List the audit log',
      description:
        'Lists who used the account through this daemon, when, for which request, and the outcome, newest first. Reads of the last quarter of a second may be missing.',
    },
    chain: {
      summary: 'Check the audit log',
      description:
        'Checks that no line of the audit log was changed, removed or inserted, as `countersignd audit verify` does. A full log has about 450,000 lines and takes some seconds.',
    },
  },
}
