/** Notifications, external members and their guest codes on both engines. */
import { onBothEngines } from '../engines.ts'
import { externalMembersSuite } from '../connections/external-members.suite.ts'
import { guestCodeEndsSuite } from './guest-code-ends.suite.ts'
import { notificationsSuite } from '../notifications.suite.ts'

onBothEngines((name, engine) => {
  notificationsSuite(name, engine)
  externalMembersSuite(name, engine)
  guestCodeEndsSuite(name, engine)
})
