/** Every kind of notification on both engines. */
import { onBothEngines } from './engines.ts'
import { notificationKindsSuite } from './notification-kinds.suite.ts'

onBothEngines(notificationKindsSuite)
