/**
 * The suite of the account interface, for each implementation: the embedded server on SQLite, on
 * PostgreSQL, and a remote server. It calls the port only.
 */
import { after, before, describe } from 'node:test'
import { accountEndSuite } from './account/account-end.suite.ts'
import { belongingsSuite } from './account/belongings.suite.ts'
import { connectionsSuite } from './account/connections.suite.ts'
import { approvalsSuite } from './account/approvals.suite.ts'
import { devicesSuite } from './account/devices.suite.ts'
import { keyLogsSuite } from './account/key-logs.suite.ts'
import { keyLogLimitsSuite } from './account/key-log-limits.suite.ts'
import { enrolmentSuite } from './account/enrolment.suite.ts'
import { exportsSuite } from './account/exports.suite.ts'
import { guestCodesSuite } from './account/guest-codes.suite.ts'
import { machinesSuite } from './account/machines.suite.ts'
import { refusalsSuite } from './account/refusals.suite.ts'
import { resetSuite } from './account/reset.suite.ts'
import { sessionListSuite } from './account/session-list.suite.ts'
import { sessionsSuite } from './account/sessions.suite.ts'
import { signInSuite } from './account/sign-in.suite.ts'
import { stampsSuite } from './account/stamps.suite.ts'
import { verificationLogSuite } from './account/verification-log.suite.ts'
import { openAccounts, type Accounts, type Subject } from './account/subject.ts'

const PARTS = [
  enrolmentSuite,
  signInSuite,
  approvalsSuite,
  devicesSuite,
  keyLogsSuite,
  keyLogLimitsSuite,
  resetSuite,
  machinesSuite,
  sessionsSuite,
  sessionListSuite,
  connectionsSuite,
  guestCodesSuite,
  stampsSuite,
  verificationLogSuite,
  exportsSuite,
  belongingsSuite,
  refusalsSuite,
  accountEndSuite,
]

export function accountSuite(name: string, open: () => Promise<Subject>): void {
  describe(`account: ${name}`, () => {
    let accounts: Accounts
    before(async () => {
      accounts = await openAccounts(open)
    })
    after(() => accounts.subject.close())

    for (const part of PARTS) part(() => accounts)
  })
}
