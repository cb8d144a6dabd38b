/** Groups of an organisation and its alerts, on both engines. */
import { onBothEngines } from '../engines.ts'
import { orgAlertFiringSuite } from './org-alert-firing.suite.ts'
import { orgAlertsSuite } from './org-alerts.suite.ts'
import { orgGroupsSuite } from './org-groups.suite.ts'

onBothEngines((name, engine) => {
  orgGroupsSuite(name, engine)
  orgAlertsSuite(name, engine)
  orgAlertFiringSuite(name, engine)
})
